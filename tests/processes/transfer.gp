# What a newcomer that is given a large state costs the others: messages a second beside what it has restored and kept back.
set encoding utf8
set terminal svg noenhanced size 900,420 background rgb 'white' font 'sans,15'
set grid
set title '@MEMBERS@ members; a newcomer is given @STATE@ MB'
set xlabel 'seconds since the newcomer was started'
set ylabel 'messages/s at each member'
set y2label 'MB restored, kept back'
set y2tics
set ytics nomirror
set yrange [0:*]
set y2range [0:*]
set key outside bottom center horizontal
set arrow from first 0, graph 0 to first 0, graph 1 nohead dt 2
set arrow from first @READY@, graph 0 to first @READY@, graph 1 nohead dt 2
$line << END
@LINE@END
plot $line using 1:2 with lines title 'messages/s', \
	$line using 1:3 axes x1y2 with lines title 'restored', \
	$line using 1:4 axes x1y2 with lines title 'kept back, at most'
