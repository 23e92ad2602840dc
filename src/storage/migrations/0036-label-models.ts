const names = ['charges', 'firsts', 'images', 'amount', 'refunded', 'quantity', 'tokens']
const counts = names.map(name => `${name} INTEGER NOT NULL`).join(', ')
/** The first item of a charge counts the charge: it has one model, and items of several tiers. */
const added = names.map(name => `sum(s.${name === 'charges' ? 'firsts' : name})`).join(', ')

export const labelModels: readonly string[] = [
  // The sums of charges by one label and one model: computed from places, they would read a hundred times as many rows.
  `CREATE TABLE cost_label_model (
    kind TEXT NOT NULL CHECK (kind IN ('end_user', 'tag')), model TEXT NOT NULL, span INTEGER NOT NULL, label TEXT NOT NULL,
    currency TEXT NOT NULL, ${counts}, PRIMARY KEY (kind, model, span, label, currency)) STRICT, WITHOUT ROWID`,
  `INSERT INTO cost_label_model (kind, model, span, label, currency, ${names.join(', ')})
    SELECT p.kind, p.model, s.span, p.label, p.currency, ${added}
    FROM cost_label_sum s JOIN cost_label_place p ON p.id = s.place
    GROUP BY p.kind, p.model, s.span, p.label, p.currency`,
]
