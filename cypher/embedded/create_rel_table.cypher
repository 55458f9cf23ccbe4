// A typed table of one relation type, with all the label pairs it joins.
// Places: relation, pairs, columns.
CREATE REL TABLE IF NOT EXISTS <relation>(<pairs><columns>)
