# How many messages are sent, received and delivered at once.
set title @TITLE@
set xlabel 'messages in a batch'
set ylabel 'batches of a stage, %'
set xtics auto
unset logscale y
set style histogram errorbars gap 1 lw 1
set style fill solid 0.6 border -1
set yrange [0:*]
$s0 << END
@SHARES@END
set xrange [-0.7:@RIGHT@]
plot $s0 using 2:3:4:xtic(1) with histogram lc 1 title 'send', \
	$s0 using 5:6:7:xtic(1) with histogram lc 2 title 'receive', \
	$s0 using 8:9:10:xtic(1) with histogram lc 3 title 'deliver'
