# A measure over what is along x: a line with bars for each series, and dashed what it is held against.
set title @TITLE@
set ylabel @MEASURE@
set xlabel @KEY@
set xtics (@VALUES@)
set xrange [-0.4:@RIGHT@]
@SERIES@@LOGARITHMIC@ logscale y
set yrange [@LEAST@:@GREATEST@]
plot @LINES@
