import t from 'tap'
import { outcomes, results } from '../../src/cli/program.ts'
import { parseMoment } from '../../src/cli/moments.ts'
import { formatIn, isZone, momentIn } from '../../src/util/index.ts'
import { wantedResults } from '../../src/domain/index.ts'
import { logMembers } from '../../src/domain/shapes/log-row.ts'
import { caseName } from '../harness/case-name.ts'

const now = Date.parse('2026-03-29T12:00:00Z')

t.test('a time is read in its zone, across changes of the clock', async t => {
  const cases: readonly (readonly [text: string, zone: string, wanted: string | undefined])[] = [
    ['2026-11-01', 'UTC', '2026-11-01T00:00:00.000Z'],
    ['2026-11-01', 'Europe/Berlin', '2026-10-31T23:00:00.000Z'],
    ['2026-11-01T08:30', 'Asia/Kathmandu', '2026-11-01T02:45:00.000Z'],
    ['2026-11-01 08:30:15', 'America/New_York', '2026-11-01T13:30:15.000Z'],
    ['2026-11-01T08:30:00Z', 'Asia/Tokyo', '2026-11-01T08:30:00.000Z'],
    ['2026-11-01T08:30:00.5+02:00', 'Asia/Tokyo', '2026-11-01T06:30:00.500Z'],
    ['2h', 'UTC', '2026-03-29T10:00:00.000Z'],
    ['now', 'UTC', '2026-03-29T12:00:00.000Z'],
    ['today', 'Europe/Berlin', '2026-03-28T23:00:00.000Z'],
    ['yesterday', 'Europe/Berlin', '2026-03-27T23:00:00.000Z'],
    ['today', 'Pacific/Auckland', '2026-03-29T11:00:00.000Z'],
    // First an hour that clocks skip, then a time that occurs twice: the first of the two counts.
    ['2026-03-29T02:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
    ['2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    ['2026-10-25T03:00', 'Europe/Berlin', '2026-10-25T02:00:00.000Z'],
    // A day that begins at one o'clock.
    ['2026-09-06', 'America/Santiago', '2026-09-06T04:00:00.000Z'],
    ['2026-02-31', 'UTC', undefined],
    ['2026-02-31T00:00:00Z', 'UTC', undefined],
    ['2026-11-01T24:10', 'UTC', undefined],
    ['2026-11-01T10:60', 'UTC', undefined],
    ['soon', 'UTC', undefined],
    ['', 'UTC', undefined],
    ['11/01/2026', 'UTC', undefined],
  ]
  for (const [text, zone, wanted] of cases) {
    const at = parseMoment(text, now, zone)
    t.equal(at === undefined ? undefined : new Date(at).toISOString(), wanted, caseName({ text, zone }))
  }
})

t.test('a time is shown with its UTC offset, and every shown one can be read again', async t => {
  t.equal(formatIn('Asia/Kathmandu', now), '2026-03-29T17:45:00+05:45')
  t.equal(formatIn('America/St_Johns', now), '2026-03-29T09:30:00-02:30')
  t.equal(formatIn('UTC', now), '2026-03-29T12:00:00+00:00')
  for (const zone of ['Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe'])
    for (let at = now; at < now + 400 * 86_400_000; at += 7 * 3_600_000 + 61_000)
      if (parseMoment(formatIn(zone, at), now, 'UTC') !== at) t.fail(`${zone} ${at}`)
  t.equal(momentIn('UTC', { year: 2026, month: 13, day: 1 }), Date.parse('2027-01-01'))
  t.ok(isZone('Europe/Berlin') && !isZone('Mars/Olympus') && !isZone(''))
})

t.test('the command line knows all outcomes and results', async t => {
  t.strictSame(results, wantedResults)
  t.strictSame(outcomes, logMembers.outcome.schema.enum)
})
