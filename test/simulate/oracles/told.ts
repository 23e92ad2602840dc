import type { Oracle } from './oracle.ts'

export const told: Oracle = {
  name: 'told',
  promise:
    'What the console tells of use and of spending is the sum of the settled charges, and each of those stands once in the log.',
  *judge({ stage }) {
    const { told: seen } = stage
    if (!seen) return
    for (const [of, sums] of [
      ['use', seen.used],
      ['spending', seen.spent],
    ] as const)
      if (JSON.stringify(sums) !== JSON.stringify(seen.charged))
        yield [
          `${of} is told otherwise than it was charged`,
          `${JSON.stringify(sums)} for ${JSON.stringify(seen.charged)}`,
        ]
    const logged = new Set(seen.logged)
    if (logged.size < seen.logged.length)
      yield ['a request stands twice in the log', `${seen.logged.length} rows of ${logged.size}`]
    // A full disk may accept charges and reject rows of the log.
    if (stage.lives.errors.some(({ text }) => text.includes('log rows'))) return
    const lost = seen.settled.filter(id => !logged.has(id))
    if (lost.length > 0) yield ['a charged request is not in the log', lost.slice(0, 5).join(', ')]
  },
}
