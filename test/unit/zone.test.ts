import t from 'tap'
import { renewalAt, periodStartsAt } from '../../src/domain/index.ts'
import { beginningOf, dateIn, isTimeZone } from '../../src/util/index.ts'

const at = (text: string): number => Date.parse(text)

t.test('a zone is a name of the IANA database', async t => {
  for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])
    t.ok(isTimeZone(name), name)
  for (const name of ['', 'Berlin', 'Europe/Nowhere', '+02:00', 'Mars/Base']) t.notOk(isTimeZone(name), name)
})

// Zone, a time, its date, and when that date and the next one begin.
const days: readonly (readonly [string, string, string, string, string])[] = [
  ['UTC', '2027-03-28T12:00Z', '2027-03-28', '2027-03-28T00:00Z', '2027-03-29T00:00Z'],
  // 23 hours and 25.
  ['Europe/Berlin', '2027-03-28T12:00Z', '2027-03-28', '2027-03-27T23:00Z', '2027-03-28T22:00Z'],
  ['Europe/Berlin', '2027-10-31T12:00Z', '2027-10-31', '2027-10-30T22:00Z', '2027-10-31T23:00Z'],
  ['America/New_York', '2027-11-07T03:59Z', '2027-11-06', '2027-11-06T04:00Z', '2027-11-07T04:00Z'],
  // Clocks jump over midnight: the day begins at one.
  ['America/Havana', '2027-03-14T12:00Z', '2027-03-14', '2027-03-14T05:00Z', '2027-03-15T04:00Z'],
  ['Asia/Kathmandu', '2027-05-16T18:14Z', '2027-05-16', '2027-05-15T18:15Z', '2027-05-16T18:15Z'],
  ['Australia/Lord_Howe', '2027-10-03T00:00Z', '2027-10-03', '2027-10-02T13:30Z', '2027-10-03T13:00Z'],
  ['Pacific/Kiritimati', '2027-05-16T10:00Z', '2027-05-17', '2027-05-16T10:00Z', '2027-05-17T10:00Z'],
]
for (const [zone, moment, date, begins, ends] of days)
  t.test(`the day of ${moment} in ${zone}`, async t => {
    const name = dateIn(zone, at(moment))
    t.equal(new Date(name).toISOString().slice(0, 10), date)
    t.equal(beginningOf(zone, name), at(begins), 'begins')
    t.equal(renewalAt('day', at(moment), zone), at(ends), 'ends')
    t.equal(dateIn(zone, at(begins)), name, 'with its first moment')
    t.equal(dateIn(zone, at(begins) - 1), name - 86_400_000, 'and not before')
  })

t.test('a month follows the zone too, and has the same name in all zones', async t => {
  const moment = at('2027-10-31T23:30Z')
  t.same(periodStartsAt(moment, 'UTC'), { day: at('2027-10-31'), month: at('2027-10-01') })
  t.same(periodStartsAt(moment, 'Europe/Berlin'), { day: at('2027-11-01'), month: at('2027-11-01') })
  t.equal(renewalAt('month', moment, 'Europe/Berlin'), at('2027-11-30T23:00Z'))
  t.equal(renewalAt('month', moment, 'UTC'), at('2027-11-01T00:00Z'))
  t.equal(renewalAt('total', moment, 'UTC'), null)
})

t.test('zones in any spelling keep a bounded number of formatters', async t => {
  const { DateTimeFormat } = Intl
  let made = 0
  const counted = new Proxy(DateTimeFormat, {
    construct: (target, words) => {
      made++
      return new target(...(words as ConstructorParameters<typeof DateTimeFormat>))
    },
  })
  Intl.DateTimeFormat = counted
  t.teardown(() => (Intl.DateTimeFormat = DateTimeFormat))
  const letters = 'europe/berlin'
  const spelling = (n: number): string =>
    Array.from(letters)
      .map((letter, i) => ((n >> i) & 1 ? letter.toUpperCase() : letter))
      .join('')
  const moment = at('2027-10-31T23:30Z')
  const name = dateIn(spelling(0), moment)
  const first = made
  t.equal(dateIn(spelling(0), moment), name)
  t.equal(made, first, "a zone's formatter is cached")
  for (let n = 1; n <= 200; n++) t.equal(dateIn(spelling(n), moment), name, spelling(n))
  const all = made
  t.equal(dateIn(spelling(0), moment), name)
  t.equal(made, all + 1, 'until many others were requested')
})
