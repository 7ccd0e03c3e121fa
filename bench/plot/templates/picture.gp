# The encoding comes before any text; of a title a sentence has room.
set encoding utf8
set terminal svg noenhanced size @WIDTH@,@HEIGHT@ background rgb 'white' font 'sans,15'
set grid
set key below maxcols 2 font ',12'
set ylabel font ',13'
set xlabel offset 0,0.6
set multiplot layout @PANELS@,1 title @TITLE@ font ',11'
