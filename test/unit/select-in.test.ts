import t from 'tap'
import { selectIn } from '../../src/storage/select-in.ts'
import type { Row } from '../../src/storage/query.ts'

/** Returns a row for each value of each statement, and counts the statements. */
function answer(values: readonly number[]): {
  readonly rows: readonly Row[]
  readonly statements: number
  readonly forms: Set<string>
} {
  const steps = selectIn('SELECT id FROM key WHERE id IN (…)', values)
  const forms = new Set<string>()
  let statements = 0
  let next = steps.next()
  while (next.done !== true) {
    statements++
    const { sql, params } = next.value
    forms.add(sql)
    next = steps.next([...new Set(params)].map(id => ({ id })))
  }
  return { rows: next.value, statements, forms }
}

t.test('[9.4] many values are queried in few statements of few forms, each value once', async t => {
  const forms = new Set<string>()
  const tooMany: number[] = []
  for (let count = 0; count <= 2_100; count++) {
    const values = Array.from({ length: count }, (_, i) => i)
    const answered = answer(values)
    for (const form of answered.forms) forms.add(form)
    const ids = answered.rows.map(({ id }) => id)
    if (ids.length !== count || ids.some((id, i) => id !== i)) t.fail(`of ${count} values other rows came`)
    // Each statement is a round trip to a server, and commits wait for them in sequence.
    if (answered.statements > 4 + count / 512) tooMany.push(count)
  }
  t.same(tooMany, [])
  t.equal(forms.size, 6)
})
