/** The end of the last 4 hours that were over when the newest charge was added up, in quarters of an hour. */
const folded = `coalesce((SELECT max(span % 1099511627776) FROM cost_part_sum WHERE part = ''), 0) / 128 * 16`

export const costFold: readonly string[] = [
  // The end of the time that has sums of spans longer than a quarter of an hour, for each pass. Up to now each charge was
  // added to all spans, so those that end before it are complete, and later ones are not read until they are written
  // anew. `target`: the end to which they are being written, and how far that is.
  `CREATE TABLE cost_fold (
    pass INTEGER NOT NULL PRIMARY KEY, folded INTEGER NOT NULL, target INTEGER NOT NULL, step INTEGER NOT NULL,
    name TEXT NOT NULL, place TEXT NOT NULL) STRICT`,
  ...[0, 1].map(
    pass => `INSERT INTO cost_fold (pass, folded, target, step, name, place)
      SELECT ${pass}, ${folded}, ${folded}, 0, '', ''`,
  ),
]
