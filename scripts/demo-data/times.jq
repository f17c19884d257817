# A line for each gift record: its id and the times of its statuses, in the order in which they came about.
.[] | "\(.RecipientTransactionId)  " + (
  [["sent", .RecipientTransactionCreatedAt]]
  + [to_entries[] | select((.key | endswith("_Date_Time")) and .value)
     | [(.key | rtrimstr("_Date_Time") | ascii_downcase), .value]]
  | sort_by(.[1]) | map("\(.[0]) \(.[1][11:19])") | join(", "))
