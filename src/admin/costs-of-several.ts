import type { CostQuery, CostRow, Costs } from '../domain/index.ts'

type Where = CostQuery['where']
type ReadCosts = (question: CostQuery) => Promise<Costs>

const counts = ['charges', 'images', 'amount', 'refunded', 'quantity', 'tokens', 'saved'] as const

/**
 * The sum of costs under several filters without common charge items, such as models a and b. The most expensive names
 * of all filters together get their own rows.
 */
export async function costsOfSeveral(
  readCosts: ReadCosts,
  wheres: readonly Where[],
  question: Omit<CostQuery, 'where'>,
): Promise<readonly CostRow[]> {
  const { apart } = question
  const askAll = async (some: Pick<CostQuery, 'apart'>) =>
    Promise.all(wheres.map(async where => (await readCosts({ ...question, ...some, where })).rows))
  const answers = await askAll({ ...(apart !== undefined && { apart }) })
  const [only] = answers
  if (only && answers.length === 1) return only
  // A name with its own row in one answer, but in the rest of another, would have only a part of its costs.
  if (typeof apart === 'number') return merge(await askAll({ apart: mostExpensive(answers.flat(), apart) }))
  return merge(answers)
}

function mostExpensive(rows: readonly CostRow[], most: number): readonly string[] {
  const amounts = new Map<string, number>()
  for (const { what, amount } of rows) if (what !== null) amounts.set(what, (amounts.get(what) ?? 0) + amount)
  const inOrder = [...amounts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  return inOrder.slice(0, most).map(([what]) => what)
}

function merge(answers: readonly (readonly CostRow[])[]): readonly CostRow[] {
  const merged = new Map<string, { -readonly [N in keyof CostRow]: CostRow[N] }>()
  for (const row of answers.flat()) {
    const place = JSON.stringify([row.bar, row.currency, row.what])
    const sum = merged.get(place)
    if (!sum) merged.set(place, { ...row })
    else for (const name of counts) sum[name] += row[name]
  }
  return [...merged.values()].sort(
    (a, b) =>
      a.bar - b.bar ||
      Number(a.what === null) - Number(b.what === null) ||
      b.amount - a.amount ||
      ((a.what ?? '') < (b.what ?? '') ? -1 : 1),
  )
}
