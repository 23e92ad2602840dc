import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { createGateway } from '../../src/index.ts'
import { createLog } from '../../src/observe/index.ts'
import { bin, makeFolder } from '../harness/folder.ts'
import { caseName } from '../harness/case-name.ts'

/** The program that gives a command a terminal. */
const hasScript = spawnSync('script', ['--version']).status === 0

t.test('init makes an empty folder ready: valid, formatted, safe, and overwrites nothing', async t => {
  const place = await makeFolder(t)
  const flags = ['--upstream', 'alpha=https://alpha.example', '--currency', 'EUR', '--listen', '127.0.0.1:9999']
  t.match(await place.run('init', '--yes', ...flags), { code: 0, stdout: '', stderr: /npx tollgate serve/ })
  const [check, fmt, audit, listen] = await Promise.all([
    place.run('check'),
    place.run('fmt', '--check'),
    place.run('audit'),
    place.run('config', 'server.listen'),
  ])
  t.match(check, { code: 0, stderr: /gateway\.yaml is valid/ })
  t.match(fmt, { code: 0 })
  t.match(audit, { code: 0, stdout: '', stderr: /0 errors, 0 warnings/ })
  t.match(listen, { code: 0, stdout: 'server.listen: 127.0.0.1:9999\n' })
  const written = await readFile(place.path('gateway.yaml'), 'utf8')
  t.match(written, /^# yaml-language-server: \$schema=\.\/gateway\.schema\.json\n/)
  t.match(JSON.parse(await readFile(place.path('gateway.schema.json'), 'utf8')), { title: 'gateway.yaml' })
  t.match(written, /^currency: EUR$/m)
  t.match(written, '"${ALPHA_URL:-https://alpha.example}"')
  t.match(written, /# Limits count per key/, 'its comments are there')
  t.match(written, /npx tollgate check /)
  t.match(
    await readFile(place.path('.env.example'), 'utf8'),
    /^# ALPHA_URL=https:\/\/alpha\.example\n# ALPHA_API_KEY=$/m,
  )
  t.equal(await readFile(place.path('.gitignore'), 'utf8'), '.env\ndata/\nnode_modules/\n')

  const [again, alone, forced] = [
    await place.run('init', '--yes'),
    await place.run('init', 'elsewhere'),
    await place.run('init', '--yes', '--force'),
  ]
  t.match(again, { code: 1, stderr: /gateway\.yaml already exists; use --force/ })
  t.match(alone, { code: 2, stderr: /no terminal\. Use --yes/ })
  t.match(forced, { code: 0 })
  t.match(await readFile(place.path('gateway.yaml'), 'utf8'), /^currency: USD$/m)
  t.equal(await readFile(place.path('.gitignore'), 'utf8'), '.env\ndata/\nnode_modules/\n', 'lines are added once')
})

t.test('init refuses invalid answers, and then writes nothing', async t => {
  const place = await makeFolder(t)
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['--upstream', 'alpha=ftp://x'], /upstreams\.alpha\.url.*\n[^]*write https:\/\/HOST/],
    [['--upstream', 'gamma=https://x.example'], /unknown upstream 'gamma'; expected one of alpha, beta, text/],
    [['--upstream', 'alpha'], /expected NAME=URL/],
    [['--currency', 'dollars'], /currency/],
  ]
  for (const [args, says] of cases)
    t.match(await place.run('init', '--yes', ...args), { code: 2, stdout: '', stderr: says }, caseName({ args, says }))
  await t.rejects(readFile(place.path('gateway.yaml')))
})

/** Runs `init` on a terminal, and answers each question when it is shown. */
async function initOnTerminal(
  t: Test,
  flags: string,
  given: readonly { readonly asked: RegExp; readonly keys: string }[],
) {
  const place = await makeFolder(t)
  const command = `stty cols 120 rows 40; exec ${process.execPath} ${bin} init ${flags}`
  const terminal = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: place.folder,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  t.teardown(() => terminal.kill('SIGKILL'))
  const answers = [...given]
  let shown = ''
  let from = 0
  terminal.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    shown += chunk
    if (!answers[0]?.asked.test(shown.slice(from))) return
    from = shown.length
    terminal.stdin.write(answers.shift()?.keys ?? '')
  })
  const [code] = (await once(terminal, 'close')) as [number]
  t.equal(code, 0, shown.slice(-400))
  return { written: await readFile(place.path('gateway.yaml'), 'utf8'), shown }
}

const onTerminal = { skip: !hasScript && 'script is missing' }

t.test('init asks on a terminal for what no flag sets', onTerminal, async t => {
  const flags = '--upstream alpha=https://alpha.example --listen 127.0.0.1:1'
  const { written } = await initOnTerminal(t, flags, [
    { asked: /keys and charges/, keys: '\r' },
    { asked: /rate limit counters/, keys: '\x1b[B\r' },
  ])
  t.match(written, '${ALPHA_URL:-https://alpha.example}')
  t.match(written, '${BETA_URL:-simulator:')
  t.match(written, '${TEXT_URL:-simulator:text}')
  t.match(written, '${TOLLGATE_COUNTERS:-redis://127.0.0.1:6379}')
  t.match(written, '${TOLLGATE_LISTEN:-127.0.0.1:1}')
})

t.test('init on a terminal starts with the chosen vendors', onTerminal, async t => {
  const { written, shown } = await initOnTerminal(t, '--storage sqlite:./own.db', [
    { asked: /Which vendors/, keys: 'recraft\t\r' },
    { asked: /Address for clients/, keys: '0.0.0.0:9000\r' },
    { asked: /rate limit counters/, keys: '\r' },
  ])
  t.match(written, /recraftv3: /)
  t.match(written, '${TOLLGATE_LISTEN:-0.0.0.0:9000}')
  t.match(written, '${TOLLGATE_STORAGE:-sqlite:./own.db}')
  t.match(shown, /set +RECRAFT_\w+/, 'the keys to set are listed')
})

t.test(
  'diff reports what a file would change, prices first: against another file, and the running gateway',
  async t => {
    const place = await makeFolder(t)
    const open = [/"\$\{TOLLGATE_(LISTEN|OPS):-127\.0\.0\.1:\d+\}"/g, '127.0.0.1:0'] as const
    await place.write('gateway.yaml', open)
    await place.write(
      'next.yaml',
      open,
      { 'groups/default/rpm': 90 },
      [/(beta-imagine-image: .*)"0\.04"/, '$1"0.05"'],
      [/^ {2}sim-rerank: .*\n/m, ''],
      [/^ {2}(sim-speech): (.*)$/m, '  $1: $2\n  new.one: $2'],
    )
    const wanted = [
      'price of beta-imagine-image 2K: 0.04 USD → 0.05 USD',
      'model new.one added (character 15.00 USD)',
      'model sim-rerank removed',
      'groups.default.rpm: 60 → 90',
    ]
    const gateway = await createGateway(place.path('gateway.yaml'), {
      env: { TOLLGATE_STORAGE: 'sqlite::memory:' },
      log: createLog({ level: 'silent' }),
    })
    t.teardown(() => gateway.close())
    const { opsUrl = '' } = await gateway.listen()
    const [against, same, json] = await Promise.all([
      place.run('diff', 'next.yaml', '--against', 'gateway.yaml'),
      place.run('diff', '--against', 'gateway.yaml'),
      place.run('diff', 'next.yaml', '--against', 'gateway.yaml', '--format', 'json'),
    ])
    t.match(against, { code: 0, stderr: /has 4 changes from gateway\.yaml/ })
    t.same(against.stdout.trimEnd().split('\n'), wanted)
    t.match(same, { code: 0, stdout: '', stderr: /no differences/ })
    t.match(JSON.parse(json.stdout), { before: /^[0-9a-f]{12}$/, after: /^[0-9a-f]{12}$/, changes: wanted })

    const running = await place.runWith(
      { TOLLGATE_STORAGE: 'sqlite::memory:' },
      'diff',
      'next.yaml',
      '--ops',
      new URL(opsUrl).host,
    )
    t.match(running, { code: 0, stderr: /from the running gateway/ })
    t.same(running.stdout.trimEnd().split('\n'), wanted)
    await gateway.close()
    t.match(await place.run('diff', 'next.yaml', '--ops', new URL(opsUrl).host), {
      code: 4,
      stdout: '',
      stderr: /no gateway answers/,
    })
  },
)

t.test(
  'findings have colours on a terminal, and text of the file controls no terminal',
  { skip: !hasScript && 'no script' },
  async t => {
    const place = await makeFolder(t)
    await writeFile(place.path('gateway.yaml'), 'version: 1\ncurrency: "\\e[31mdollars"\n')
    const command = `${process.execPath} ${bin} check`
    const terminal = spawn('script', ['-qec', command, '/dev/null'], {
      cwd: place.path('.'),
      env: { PATH: process.env['PATH'], TERM: 'xterm-256color' },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [shown] = await Promise.all([text(terminal.stdout), once(terminal, 'close')])
    t.match(shown, '\u001b[1mgateway.yaml:', 'the place is bold')
    t.notMatch(shown, '\u001b[31mdollars')
    t.notMatch(shown, '\\u001b[1m')
  },
)

t.test('init writes no password', async t => {
  const place = await makeFolder(t)
  for (const [flag, url] of [
    ['--storage', 'postgres://u:pass-word-1@db.example/x'],
    ['--counters', 'redis://:pass-word-1@redis.example:6379'],
  ] as const) {
    const refused = await place.run('init', '--yes', flag, url)
    t.match(refused, { code: 2, stdout: '', stderr: /contains a password.*set TOLLGATE_/ }, caseName({ flag, url }))
    t.notMatch(refused.stderr, 'pass-word-1', caseName({ flag, url }))
  }
  await t.rejects(readFile(place.path('gateway.yaml')), { code: 'ENOENT' })
  t.match(await place.run('init', '--yes', '--storage', 'postgres://u@db.example/x'), { code: 0 })
})

t.test('import writes a file that check accepts, once', async t => {
  const place = await makeFolder(t)
  const model =
    '{ model_name: a, litellm_params: { model: openai/a, timeout: 3, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }, model_info: { mode: chat } }'
  await writeFile(place.path('config.yaml'), `model_list: [${model}]\n`)
  const args = ['import', '--from', 'litellm', 'config.yaml', '--out', 'gateway.yaml']
  t.match(await place.run(...args), {
    code: 0,
    stdout: '',
    stderr: /1 of 1 model active.*tollgate check/,
  })
  t.match(await place.run('check'), { code: 0 })
  t.match(await place.run(...args), { code: 1, stderr: /gateway\.yaml already exists/ })
  const printed = await place.run('import', 'config.yaml')
  t.equal(printed.stdout, await readFile(place.path('gateway.yaml'), 'utf8'))
  t.match(await place.run('import', 'none.yaml'), { code: 1, stderr: 'none.yaml does not exist\n' })
  t.match(await place.run('import', '--from', 'litelm', 'config.yaml'), {
    code: 2,
    stderr: /litelm/,
  })
})
