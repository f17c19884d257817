# fish: giftsyncctl itself says which words may follow.
complete -c giftsyncctl -a '(giftsyncctl complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
