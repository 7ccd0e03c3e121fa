# source.awk - a source as a page of the site shows it: awk -v names=FILE -v page=PAGE -f names.awk -f source.awk SOURCE

{ print linked(escaped($0)) }
