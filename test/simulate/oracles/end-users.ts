import { otherLabels } from '../../../src/domain/labels.ts'
import { type Ask, codeOf, idOf, isReplay } from '../play/asks.ts'
import { endUserLimits, factorOf, imagePrices } from '../play/settings.ts'
import type { Stage } from '../play/stage.ts'
import { judgeExcess, judgeRoom } from './limits.ts'
import type { Evidence, Finding, Oracle } from './oracle.ts'

/** The maximum price of anything but plain images, in micro-units. */
const mostExpensiveText = 400_000

export const endUsers: Oracle = {
  name: 'end-users',
  promise:
    'A charge is of the end user that the caller named. Each has exact sums, and a limit and a budget of their own.',
  *judge(evidence) {
    const { stage } = evidence
    if (!stage.plan.endUsers) return
    yield* judgeNames(evidence)
    yield* judgeSums(evidence)
    for (const [name, asks] of Map.groupBy(stage.asks, ask => stage.endUserOf(ask.wish))) {
      if (name === undefined) continue
      const subject = { name: `end user ${name}`, rpm: () => endUserLimits.rpm }
      yield* judgeExcess(subject, asks)
      yield* judgeRoom('end_user_rpm', subject, asks)
      yield* judgeMoney(stage, name, asks)
    }
  },
}

function labels(stage: Stage): ReadonlyMap<string, string> {
  const rows = stage.look(`SELECT id, name FROM label WHERE kind = 'end_user'`)
  return new Map(rows.map(row => [String(row['id']), String(row['name'])]))
}

/** The ids of end users in a charge's attribution. */
const idsOf = (attribution: unknown, known: ReadonlyMap<string, string>): readonly string[] =>
  (typeof attribution === 'string' ? attribution : '').split(' ').filter(id => known.has(id))

function* judgeNames({ stage, books }: Evidence): Iterable<Finding> {
  const known = labels(stage)
  for (const ask of stage.asks) {
    if (idOf(ask) === undefined || isReplay(ask)) continue
    for (const suffix of ['', '.u']) {
      const charge = books.chargeOf(ask, suffix)
      if (!charge) continue
      const named = idsOf(charge['attribution'], known).map(id => known.get(id))
      const wanted = [stage.endUserOf(ask.wish) ?? []].flat()
      // If the storage could not create an id, the request is counted in the common group of such requests.
      if (ask.disturbed !== undefined && String(charge['attribution']) === otherLabels.end_user) continue
      if (named.join() !== wanted.join())
        yield ['a charge is of another end user', `ask ${ask.no}: ${named.join()} instead of ${wanted.join()}`]
    }
  }
}

/** An account's spend equals the charges of its end user minus the refunds. */
function* judgeSums({ stage, books }: Evidence): Iterable<Finding> {
  const known = labels(stage)
  const refunds = Map.groupBy(
    books.entries.filter(entry => entry['kind'] === 'refund'),
    entry => String(entry['charge_id']),
  )
  const sums = new Map<string, number>()
  for (const charge of books.charges.values()) {
    if (charge['state'] !== 'settled') continue
    const back = (refunds.get(String(charge['id'])) ?? []).reduce((sum, one) => sum + Number(one['amount']), 0)
    for (const id of idsOf(charge['attribution'], known))
      sums.set(id, (sums.get(id) ?? 0) + Number(charge['amount']) - back)
  }
  const accounts = new Map<string, number>()
  for (const row of stage.look(`SELECT name, sum(spent) AS spent FROM account
      WHERE kind = 'end_user' GROUP BY name`)) {
    const name = String(row['name'])
    const id = name.slice(0, name.indexOf(' '))
    accounts.set(id, (accounts.get(id) ?? 0) + Number(row['spent']))
  }
  for (const [id, name] of known) {
    const [sum, spent] = [sums.get(id) ?? 0, accounts.get(id) ?? 0]
    if (sum !== spent) yield ['the account of an end user is wrong', `${name}: ${spent} instead of ${sum}`]
  }
}

/** Text may exceed a budget, images may not; and a request within the budget is never refused. */
function* judgeMoney(stage: Stage, name: string, asks: readonly Ask[]): Iterable<Finding> {
  const { budget } = endUserLimits
  const cost = ({ wish }: Ask): number => {
    if (wish.operation !== 'image' && wish.operation !== 'edit') return mostExpensiveText
    const factors = stage.settingsBetween(0).map(settings => factorOf(wish.model, settings))
    return wish.n * imagePrices['4K'] * Math.max(...factors)
  }
  for (const ask of asks) {
    if (codeOf(ask) !== 'insufficient_quota' || ask.disturbed !== undefined) continue
    const before = asks.filter(one => one !== ask && one.sentAt <= (ask.endedAt ?? Infinity))
    const most = [...before, ask].reduce((sum, one) => sum + cost(one), 0)
    if (most <= budget)
      yield ['an end user was refused where there was money', `${name}: ask ${ask.no}, ${most} of ${budget}`]
  }
  const [images] = stage.look(
    `WITH larger AS (SELECT DISTINCT charge_id AS id FROM line
       WHERE flags LIKE '%larger_than_expected%' OR flags LIKE '%over_return%')
     SELECT sum(min(c.amount, c.hold)) AS spent FROM charge c LEFT JOIN larger l ON l.id = c.id
     WHERE c.state = 'settled' AND c.operation IN ('image.generate', 'image.edit') AND l.id IS NULL
     AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.charge_id = c.id AND e.kind = 'refund')
     AND EXISTS (SELECT 1 FROM label e WHERE e.kind = 'end_user' AND e.name = ?
       AND (' ' || c.attribution || ' ') LIKE '% ' || e.id || ' %')`,
    name,
  )
  const refunded = stage.decisions.some(({ how }) => how === 'refund')
  if (!refunded && Number(images?.['spent']) > budget)
    yield ['images for more than the budget of an end user', `${name}: ${images?.['spent']} of ${budget}`]
}
