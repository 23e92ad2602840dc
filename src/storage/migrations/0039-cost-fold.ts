/** The end of the last 4 hours that were over when the newest charge was added up, in quarters of an hour. */
const folded = `coalesce((SELECT max(span % 1099511627776) FROM cost_part_sum WHERE part = ''), 0) / 128 * 16`

export const costFold: readonly string[] = [
  // `folded`: the end of the time that has sums of spans longer than a quarter of an hour, for each pass. Earlier
  // versions added each charge to all spans: those that end by then are complete, and readers ignore later ones until
  // the gateway has written them. `target`: the end of the spans that it writes now; the rest is its progress.
  `CREATE TABLE cost_fold (
    pass INTEGER NOT NULL PRIMARY KEY, folded INTEGER NOT NULL, target INTEGER NOT NULL, step INTEGER NOT NULL,
    name TEXT NOT NULL, place TEXT NOT NULL) STRICT`,
  ...[0, 1].map(
    pass => `INSERT INTO cost_fold (pass, folded, target, step, name, place)
      SELECT ${pass}, ${folded}, ${folded}, 0, '', ''`,
  ),
]
