import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { CliResult } from '../harness/cli.ts'
import { caseName } from '../harness/case-name.ts'
import { runMany } from '../harness/many-commands.ts'
import { picture } from '../harness/pictures.ts'
import { openShop } from '../harness/shop.ts'

const bin = fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))
const idsOf = ({ stdout }: CliResult): readonly string[] => stdout.match(/req_[0-9a-z]+/g) ?? []

/** A running `tollgate logs -f`. */
function follow(t: Test, folder: string, ...more: readonly string[]) {
  const child = spawn(
    process.execPath,
    [bin, 'logs', '-f', '--format', 'json', '-c', join(folder, 'cli.yaml'), ...more],
    {
      env: { ...process.env, TOLLGATE_STORAGE: `sqlite:${join(folder, 'tollgate.db')}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const gone = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk))
  return {
    ids: (): readonly string[] => printed.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line).id])),
    async until(count: number) {
      while (this.ids().length < count) await Promise.race([once(child.stdout, 'data'), gone])
    },
    async interrupt() {
      child.kill('SIGINT')
      return ((await gone) as [number | null])[0]
    },
  }
}

t.test('the log has filters, formats and a follow mode', async t => {
  const shop = await openShop(t)
  shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254)] })
  const cheap = await shop.ask({ model: 'alpha-image-2', prompt: 'a boat' })
  shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254), picture(1254, 1254)] })
  const dear = await shop.ask({ model: 'alpha-image-2', prompt: 'a boat', n: 2 })
  const refused = await shop.ask({ model: 'no-such', prompt: 'a boat' })
  await shop.settled()
  const logs = (many: readonly (readonly string[])[]) =>
    runMany(
      shop,
      many.map(words => ['logs', '-c', 'CONFIG', ...words]),
    )

  const [{ outcome: refusedAs } = { outcome: '' }] = await shop.logs(1)
  const all = [refused.id, dear.id, cheap.id]
  const cases: readonly (readonly [words: readonly string[], wanted: readonly string[]])[] = [
    [[], all],
    [['--since', '1h'], all],
    [['--since', 'yesterday', '--until', 'now', '--zone', 'Pacific/Auckland'], all],
    [['--until', '1h'], []],
    [
      ['--status', '200'],
      [dear.id, cheap.id],
    ],
    [['--status', '4xx'], [refused.id]],
    [['--user', 'local'], all],
    [['--user', 'nobody'], []],
    [['--key', shop.keyId], all],
    [
      ['--model', 'alpha-image-2'],
      [dear.id, cheap.id],
    ],
    [['--outcome', 'deadline'], []],
    [['--outcome', refusedAs, '--limit', '1'], [refused.id]],
    [['--min-cost', '0.05'], [dear.id]],
    [['--min-cost', '0.04', '--limit', '1'], [dear.id]],
  ]
  const listed = await logs(cases.map(([words]) => words))
  for (const [i, [words, wanted]] of cases.entries()) {
    t.strictSame(idsOf(listed[i] as CliResult), wanted, caseName({ words }))
    t.equal(listed[i]?.code, 0, caseName({ i, words, wanted }))
  }

  await t.test('times are shown as parsed, and invalid ones are refused', async t => {
    const [dated] = await logs([['--since', '2026-11-01', '--zone', 'Europe/Berlin']])
    t.match(dated, { stderr: /^from 2026-11-01T00:00:00\+01:00 until now \(Europe\/Berlin\)$/m })
    const refusals: readonly (readonly [words: readonly string[], says: RegExp])[] = [
      [['--since', 'soon'], /--since soon: expected a date .* the time zone is /],
      [['--since', '1h', '--until', '2h'], /--since must be before --until/],
      [['--status', '999'], /--status 999: expected a status such as 429/],
      [['--min-cost', 'much'], /--min-cost much: expected an amount/],
      [['--zone', 'Mars'], /--zone Mars: expected an IANA time zone/],
      [['-f', '--until', 'now'], /--follow and --until cannot be combined/],
      [['--outcome', 'lost'], /Allowed choices are answered/],
    ]
    for (const [i, ran] of (await logs(refusals.map(([words]) => words))).entries())
      t.match(ran, { code: 2, stdout: '', stderr: refusals[i]?.[1] }, caseName({ words: refusals[i]?.[0] }))
  })

  await t.test('prints a table for people, CSV for spreadsheets, and records for programs', async t => {
    const [table, sheet, records] = await logs([
      ['--format', 'table', '--zone', 'UTC', '--status', '200'],
      ['--format', 'csv', '--model', 'alpha-image-2'],
      ['--format', 'json'],
    ])
    t.match(
      table?.stdout,
      /^TIME \(UTC\) +ID +STATUS +OUTCOME +MODEL +USER +KEY +MS +COST\n\S+\+00:00 +req_\S+ +200 +answered /,
    )
    t.match(table?.stdout, / {2}0\.08 USD\n.* {2}0\.04 USD\n$/)
    const [head, first] = sheet?.stdout.split('\n') ?? []
    t.match(
      head,
      /^time,id,status,outcome,error,.*,amount,refunded,currency,text,counts,service_tier,speed,region,end_user,tags,cache,saved,alias,use_amount,use_refunded$/,
    )
    t.match(first, new RegExp(`^\\S+Z,${dear.id},200,answered,,image\\.generate,.*,settled,0\\.08,0\\.00,USD,"`))
    const listed = records?.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { id: string })
    t.strictSame(
      listed?.map(({ id }) => id),
      all,
    )
  })

  await t.test('follows the log across a restart of the gateway, until Ctrl-C', async t => {
    const tail = follow(t, shop.folder, '--limit', '1', '--status', '200')
    await tail.until(1)
    t.strictSame(tail.ids(), [dear.id])
    const next = await shop.ask({ model: 'alpha-image-2', prompt: 'a boat' })
    await tail.until(2)
    const again = await shop.reopen()
    const last = await again.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' })
    await again.post('/v1/images/generations', { model: 'no-such', prompt: 'a boat' })
    await tail.until(3)
    t.strictSame(tail.ids(), [dear.id, next.id, last.headers.get('x-request-id')])
    t.equal(await tail.interrupt(), 0)
  })
})

t.test('text usage is in English on a terminal, and unchanged in data formats', async t => {
  const shop = await openShop(t)
  shop.upstreams['text']?.answer({ choices: [], usage: { prompt_tokens: 12, completion_tokens: 34 } })
  const request = { model: 'sim-chat', messages: [{ role: 'user', content: 'hi' }] }
  const answer = await shop.post('/v1/chat/completions', request)
  await answer.arrayBuffer()
  await shop.settled()
  const id = answer.headers.get('x-request-id') ?? ''
  const words = [['logs'], ['logs', 'show', id], ['logs', '--format', 'json']]
  const [lines, one, data] = await runMany(
    shop,
    words.map(more => [...more, '-c', 'CONFIG']),
  )
  t.match(lines?.stdout, /\(settled\) {2}input 12, output 34$/m)
  t.match(one?.stdout, /^input 12, output 34$/m)
  t.match(data?.stdout, '输入 12, 输出 34')
})
