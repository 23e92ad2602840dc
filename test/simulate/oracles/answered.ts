import type { Oracle } from './oracle.ts'

/** The maximum time of an upstream's answer, and a minute for everything else. */
const longestMs = 16 * 60_000

export const answered: Oracle = {
  name: 'answered',
  promise: 'Nobody waits longer than an upstream may take, and a minute.',
  *judge({ stage }) {
    for (const ask of stage.asks) {
      const { operation, stream, shapes } = ask.wish
      const what = `${operation}${stream ? ' stream' : ''} ${shapes.join(', ')}`
      if (ask.endedAt === undefined) yield [`a caller still waits: ${what}`, `ask ${ask.no}`]
      else if (ask.endedAt - ask.sentAt > longestMs)
        yield [
          `a caller waited too long: ${what}`,
          `ask ${ask.no}: ${Math.round((ask.endedAt - ask.sentAt) / 1_000)} s`,
        ]
      if (ask.broken !== undefined) yield ['an answer is no HTTP', `ask ${ask.no}: ${ask.broken}`]
    }
    for (const { what, answer, endedAt, broken } of stage.odd.list) {
      if (endedAt === undefined) yield [`somebody still waits: ${what}`, '']
      if (broken !== undefined) yield ['an answer is no HTTP', `${what}: ${broken}`]
      const status = Number(answer?.first.split(' ')[1] ?? 0)
      if (status >= 500 && status !== 503) yield [`nobody asked for that much: ${what} is answered ${status}`, '']
    }
  },
}
