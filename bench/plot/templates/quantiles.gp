# Within how much time which part of the messages is delivered, a line for each variant.
set title ''
set xlabel 'part of the messages'
set ylabel 'at most so many us'
set logscale y
set yrange [*:*]
set xtics ('50 %%' 0, '90 %%' 1, '99 %%' 2, '99.9 %%' 3, 'all' 4)
set xrange [-0.4:4.4]
@SERIES@plot @LINES@
