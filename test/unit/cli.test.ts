import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Ran, runCommand, runProcess } from '../harness/commands.ts'
import { until } from '../harness/works.ts'
import { picture } from '../harness/pictures.ts'
import { startUpstream } from '../harness/upstream.ts'
import { caseName } from '../harness/case-name.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const bin = join(root, 'src/cli/bin.ts')

/** A folder with the shipped configuration, and commands that run in it. */
type Place = {
  readonly folder: string
  readonly config: string
  readonly env: NodeJS.ProcessEnv
  readonly run: (...args: readonly string[]) => Promise<Ran>
  /** Changes the configuration's text. */
  readonly edit: (find: string | RegExp, put: string) => Promise<void>
}

async function makePlace(t: Test, more: NodeJS.ProcessEnv = {}): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-cli-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const config = join(folder, 'gateway.yaml')
  await copyFile(join(root, 'gateway.yaml'), config)
  const { ALPHA_URL: _a, BETA_URL: _b, TOLLGATE_STORAGE: _s, ...rest } = process.env
  const env = { ...rest, TOLLGATE_LISTEN: '127.0.0.1:0', TOLLGATE_OPS: '127.0.0.1:0', ...more }
  return {
    folder,
    config,
    env,
    run: (...args) => runIn({ folder, env }, args),
    async edit(find, put) {
      const before = await readFile(config, 'utf8')
      const after = before.replace(find, put)
      if (after === before) throw new Error(`the configuration has no ${String(find)}`)
      await writeFile(config, after)
    },
  }
}

async function runIn(
  place: { readonly folder: string; readonly env: NodeJS.ProcessEnv },
  args: readonly string[],
  input?: string,
): Promise<Ran> {
  const where = { cwd: place.folder, env: place.env }
  return input === undefined ? runCommand(where, args) : runProcess(where, args, input)
}

/** A running `tollgate serve`. */
type Serving = {
  readonly process: ChildProcess
  readonly url: string
  readonly said: () => string
  readonly printed: () => string
  /** Waits until standard error matches, from a given position on. */
  readonly hears: (wanted: RegExp, from?: number) => Promise<RegExpExecArray>
  readonly exit: Promise<number | NodeJS.Signals | null>
}

async function serve(t: Test, place: Place): Promise<Serving> {
  const child = spawn(process.execPath, [bin, 'serve'], { cwd: place.folder, env: place.env })
  const exit = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals | null)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exit
  })
  let output = ''
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => undefined)
  child.stderr.on('end', () => ended.reject(new Error(`the gateway ended and had said: ${output}`)))
  const hears = async (wanted: RegExp, from = 0): Promise<RegExpExecArray> => {
    for (;;) {
      const match = wanted.exec(output.slice(from))
      if (match) return match
      await Promise.race([once(child.stderr, 'data'), ended.promise])
    }
  }
  const [, url] = await hears(/^tollgate +(http:\S+)\/v1 /m)
  return { process: child, url: String(url), said: () => output, printed: () => printed, hears, exit }
}

const jsonLines = (stdout: string): Record<string, unknown>[] =>
  stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Record<string, unknown>)

const generate = (url: string, key: string, body: object) =>
  fetch(`${url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'a boat', ...body }),
  })

t.test('an unknown argument gets a suggestion and exit 2, on standard error', async t => {
  const { run } = await makePlace(t)
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [[], /Usage: tollgate/],
    [['serv'], /unknown command 'serv'\n\(Did you mean serve\?\)/],
    [['keys', 'creat'], /unknown command 'creat'\n\(Did you mean create\?\)\n\(see tollgate keys --help/],
    [['keys', 'create', '--nam', 'x'], /unknown option '--nam'\n\(Did you mean --name\?\)/],
    [['keys', 'create'], /'--name <name>' not specified/],
    [['logs', 'shwo', 'x'], /unknown command 'shwo'\n\(logs has: show\)/],
    [['logs', '--limit', '0'], /expected a whole number from 1/],
    [
      ['explain', 'image', '--model', 'alpha-image-2', '--sise', '1x1'],
      /unknown option '--sise'\n\(Did you mean --size/,
    ],
    [['keys', 'create', '--name', 'x', '--budget', 'much'], /--budget much: expected an amount such as 25\.00/],
    [['keys', 'create', '--name', 'x', '--group', 'none'], /--group none: the configuration has default, partner/],
    [['users', 'passwd', 'local'], /12 to 128 characters/],
  ]
  const ran = await Promise.all(cases.map(([args]) => run(...args)))
  for (const [i, [args, says]] of cases.entries()) {
    const { code, stdout, stderr } = ran[i] as Ran
    t.equal(code, 2, `tollgate ${args.join(' ')}`)
    t.match(stderr, says, caseName({ i, args, says }))
    t.equal(stdout, '', caseName({ i, args, says }))
  }
})

t.test('commands that need no gateway print data to stdout and messages to stderr', async t => {
  const { run, edit } = await makePlace(t)
  const [version, flag, schema, help, good, image, imageJson, edited] = await Promise.all([
    run('version'),
    run('--version'),
    run('schema'),
    run('keys', '--help'),
    run('check', 'gateway.yaml'),
    run('explain', 'image', '--model', 'beta-imagine-image', '--size', '3840x2160', '--n', '2', '--quality', 'high'),
    run('explain', 'image', '--model', 'beta-imagine-image', '--size', '3840x2160', '--n', '2', '--format', 'json'),
    run('explain', 'image', '--model', 'alpha-image-2', '--size', '3840x2160', '--edit', '--format', 'json'),
  ])
  const { version: wanted } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  t.strictSame(version, { code: 0, stdout: `${wanted}\n`, stderr: '' })
  t.strictSame(flag, version)
  t.equal(schema.stdout, await readFile(join(root, 'schemas/gateway.schema.json'), 'utf8'), 'schema prints the file')
  t.match(help, { code: 0, stdout: /create/, stderr: '' }, 'requested help is data')
  t.match(good, { code: 0, stdout: '', stderr: /gateway\.yaml is valid: \d+ models .* revision [0-9a-f]{12}/ })
  t.match(image, { code: 0, stderr: '' })
  for (const says of [
    /^request {4}POST \/v1\/images\/generations, model beta-imagine-image of family beta-image, to upstream beta$/m,
    /^dropped {4}quality$/m,
    /^sent .*resolution=2k {2}aspect_ratio=16:9$/m,
    /^returned   2816x1584$/m,
    /^price {6}4K, 请求尺寸 \(request\): 0\.08 USD each \(gateway\.yaml:\d+\)$/m,
    /^bill {7}2 × 0\.08 = 0\.16 USD expected, at most 0\.16; no group multiplier applies$/m,
    /^note .*2048x1152 is billed 2K$/m,
  ])
    t.match(image.stdout, says, caseName({ says }))
  t.match(jsonLines(imageJson.stdout), [
    {
      sent: { resolution: '2k', aspect_ratio: '16:9' },
      expected_size: '2816x1584',
      quote: { n: 2, tier: '4K', source: 'request', price: '0.08', expected: '0.16', at_most: '0.16' },
    },
  ])
  const speech = await run('explain', 'request', '--model', 'sim-speech')
  t.match(speech.stdout, /^bill {7}0\.00 USD; hold 0\.00 before the call$/m)
  t.notMatch(speech.stdout, /^note/m, 'a hold of nothing has no list')
  t.match(jsonLines(edited.stdout), [{ route: 'POST /v1/images/edits', quote: { tier: null, at_most: '0.04' } }])

  const refusals: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['--model', 'nope'], /^404 model_not_found/],
    [['--model', 'beta-imagine-image', '--size', 'large'], /^400 invalid_size: .*1k, 2k/],
    [['--model', 'alpha-image-2', '--n', '129'], /^400 invalid_n/],
  ]
  const refused = await Promise.all(refusals.map(([args]) => run('explain', 'image', ...args)))
  for (const [i, [, says]] of refusals.entries())
    t.match(refused[i], { code: 1, stdout: '', stderr: says }, 'explain refuses what the gateway would refuse')

  await edit('rpm: 60,', 'rpm: sixty,')
  await edit('family: beta-image,', 'family: beta-imag,')
  const [bad, badJson, badServe, absent] = await Promise.all([
    run('check'),
    run('check', '--format', 'json'),
    run('serve'),
    run('check', 'none.yaml'),
  ])
  t.match(bad, { code: 3, stdout: '', stderr: /gateway\.yaml: 2 errors\n$/ })
  t.match(bad.stderr, /^gateway\.yaml:\d+:\d+ {2}groups\.default\.rpm {2}found 'sixty'[^]*\^~~~~/m)
  t.match(bad.stderr, /^gateway\.yaml:\d+:\d+ {2}models\.beta-imagine-image\.family .*beta-imag/m)
  t.equal(badJson.code, 3)
  t.match(jsonLines(badJson.stdout), [{ severity: 'error', line: Number, col: Number }, { severity: 'error' }])
  t.match(badServe, { code: 3, stdout: '', stderr: /groups\.default\.rpm/ })
  t.match(absent, { code: 3, stderr: /none\.yaml:1:1 .*cannot be read/ })
})

t.test('every command works next to a serving gateway', async t => {
  const beta = await startUpstream()
  t.teardown(() => beta.close())
  const place = await makePlace(t, { BETA_URL: beta.url, BETA_API_KEY: 'secret-of-beta' })
  const { run } = place
  const gateway = await serve(t, place)
  const { url } = gateway
  await gateway.hears(/tollgate -- logs\n/)
  t.match(gateway.said(), /^operators {2}http:\S+\/metrics {2}\/healthz {2}\/readyz$/m)
  t.match(gateway.said(), /^SIMULATED {2}upstream 'alpha'/m)
  t.notMatch(gateway.said(), /^SIMULATED {2}upstream 'beta'/m)
  t.notMatch(gateway.said(), /secret-of-beta/)
  const [, keyFile = ''] = await gateway.hears(/API key \(\S+\) in (\S+) \(mode 600\)/)
  const firstKey = (await readFile(keyFile, 'utf8')).trim()
  t.notMatch(gateway.said(), firstKey, 'it is not in a log')

  const skip = spawnSync('curl', ['--version']).error !== undefined && 'curl is not installed'
  await t.test('the printed first request works when pasted', { skip }, async t => {
    const [command] = await gateway.hears(/^ {2}curl -s [^]*?\n(?=\nThen)/m)
    const shell = spawn('sh', ['-c', command], { cwd: place.folder, env: place.env })
    const [output] = await Promise.all([text(shell.stdout), once(shell, 'close')])
    t.equal(output, 'picture.png\n')
    const bytes = await readFile(join(place.folder, 'picture.png'))
    t.equal(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, '1536x1024')
  })

  const answered = await generate(url, firstKey, { model: 'alpha-image-2', size: '1536x1024', n: 2, seed: 7 })
  const id = String(answered.headers.get('x-request-id'))
  t.equal(answered.status, 200)
  await answered.text()

  await t.test('logs and explain log show a request and its bill', async t => {
    await until(async () => (await run('logs', 'show', id)).code === 0)
    const [list, listJson, show, showJson, explained, absent, other] = await Promise.all([
      run('logs'),
      run('logs', '--limit', '1', '--format', 'json'),
      run('logs', 'show', id),
      run('logs', 'show', id, '--format', 'json'),
      run('explain', 'log', id),
      run('logs', 'show', 'req_none'),
      run('logs', '--model', 'beta-imagine-image'),
    ])
    const bill = '大小 1536x1024, 请求品质 -, 生成数量 2, 图片档位 2K, 来源 输出尺寸, 实际尺寸 1536x1024'
    t.match(list, { code: 0, stderr: '' })
    t.ok(list.stdout.includes(`${id}  200 answered  alpha-image-2`) && list.stdout.includes(bill))
    t.notMatch(list.stdout, /caller_gone/, 'curl closes as soon as it has everything, and no request remains')
    const wanted = {
      id,
      status: 200,
      outcome: 'answered',
      user: 'local',
      group: 'default',
      model: 'alpha-image-2',
      operation: 'image.generate',
      upstream: 'alpha',
      dropped: ['seed'],
      billing: { state: 'settled', count: 2, tier: '2K', source: 'output', amount: '0.08', text: bill },
    }
    t.match(jsonLines(listJson.stdout), [wanted])
    t.match(jsonLines(showJson.stdout), [wanted])
    t.match(show.stdout, /^dropped {4}seed$/m)
    t.match(show.stdout, /^ {2}#1 {2}long edge 1536 ≤ 2048 → 2K {2}→ {2}0\.04 USD {2}\(.*gateway\.yaml:\d+\)$/m)
    t.match(show.stdout, /^charged {4}0\.08 USD, settled; no group multiplier applies$/m)
    t.strictSame(explained, show, 'explain log prints the same')
    t.match(absent, { code: 1, stdout: '', stderr: /there is no request 'req_none'/ })
    t.match(other, { code: 0, stdout: '', stderr: /no matching requests/ })
  })

  await t.test('client text cannot move the cursor or begin a line', async t => {
    const made = 'high\u001b[2J\r\n2026-11-20T00:00:00.000Z  req_forged  200 answered \u009b1A\u202e'
    const forger = await generate(url, firstKey, { model: 'alpha-image-2', quality: made, [`a\n${made}`]: 1 })
    await forger.text()
    const forged = String(forger.headers.get('x-request-id'))
    // Rows of the log are written in batches.
    await until(async () => (await run('logs', 'show', forged)).code === 0)
    for (const { code, stdout } of await Promise.all([run('logs'), run('logs', 'show', forged)])) {
      t.equal(code, 0, caseName({ code, stdout }))
      t.notMatch(stdout.replaceAll('\n', ''), /[\p{Cc}\u202e]/u, caseName({ code, stdout }))
      t.notMatch(stdout, /^(?:2026-11-20T00:00:00\.000Z {2}req_forged|high)/m, caseName({ code, stdout }))
      t.match(stdout, String.raw`请求品质 high\u001b[2J\u000d\u000a2026`, 'it is shown escaped')
    }
  })

  await t.test('keys created and revoked here apply at the running gateway', async t => {
    const [made, plain] = await Promise.all([
      run('keys', 'create', '--name', 'cli', '--group', 'partner', '--budget', '0.10', '--format', 'json'),
      run('keys', 'create', '--name', 'words', '--models', 'alpha-image-2'),
    ])
    t.match(made, { code: 0, stderr: '' })
    const [created] = jsonLines(made.stdout) as { id: string; key: string }[]
    t.match(created, { id: /^key_/, key: /^sk-/, name: 'cli', user: 'local', group: 'partner', budget: '0.10' })
    t.match(plain, { code: 0, stdout: /^sk-\S+\n$/, stderr: /'words' of local.*shown only now/ })
    const models = () => fetch(`${url}/v1/models`, { headers: { 'x-api-key': created?.key ?? '' } })
    t.equal((await models()).status, 200, 'taken at once')
    const [table, listed] = await Promise.all([run('keys', 'list'), run('keys', 'list', '--format', 'json')])
    t.match(table, {
      code: 0,
      stdout: /^id +name +user .*\n[^]*cli +local +partner .* active +0\.00 +0\.10$/m,
      stderr: '',
    })
    t.match(
      jsonLines(listed.stdout).find(key => key['id'] === created?.id),
      { name: 'cli', status: 'active', spent: '0.00' },
    )
    t.notOk((table.stdout + listed.stdout).includes(created?.key ?? ''), 'a secret is shown once')
    t.match(await run('keys', 'revoke', created?.id ?? ''), { code: 0, stdout: '', stderr: /Revoked key/ })
    const since = performance.now()
    while ((await models()).status === 200 && performance.now() - since < 10_000);
    t.equal((await models()).status, 401)
    t.ok(performance.now() - since < 10_000, `refused after ${Math.round(performance.now() - since)} ms`)
    t.match(await run('keys', 'revoke', 'key_none'), { code: 1, stderr: /there is no key 'key_none'/ })
  })

  await t.test('users are created, listed and given passwords', async t => {
    t.match(await run('users', 'create', 'ann', '--group', 'partner'), { code: 0, stderr: /User ann \(user\)/ })
    t.match(await run('users', 'create', 'ann'), { code: 1, stderr: /'ann' already/ })
    t.match(await runIn(place, ['users', 'passwd', 'ann'], 'correct horse battery\n'), {
      code: 0,
      stderr: /^Set the password of/,
    })
    const listed = await run('users', 'list', '--format', 'json')
    t.match(
      jsonLines(listed.stdout).find(user => user['name'] === 'ann'),
      { group: 'partner', role: 'user' },
    )
    t.notMatch(listed.stdout, /correct horse|scrypt/)
  })

  await t.test('the ledger is verified, replayed, resolved and refunded', async t => {
    // Cut after the request was sent: an image may have been made.
    beta.answerOnce(res => void res.socket?.resetAndDestroy())
    const doubtful = await generate(url, firstKey, { model: 'beta-imagine-image' })
    t.equal(doubtful.headers.get('x-should-retry'), 'false')
    const doubt = String(doubtful.headers.get('x-request-id'))
    await doubtful.text()
    t.match(await run('ledger', 'verify'), { code: 0, stdout: '', stderr: /0 problems/ })
    t.match(jsonLines((await run('ledger', 'verify', '--format', 'json')).stdout), [{ problems: [] }])
    t.match(await run('ledger', 'replay'), { code: 0, stdout: '', stderr: /0 differ/ })
    t.match(await run('ledger', 'resolve', id), { code: 1, stderr: /not a charge waiting for review/ })
    t.match(await run('ledger', 'resolve', doubt, '--as', 'void', '--reason', 'asked'), { code: 0, stderr: /voided/ })
    t.match(await run('ledger', 'refund', id, '--reason', 'kindness'), {
      code: 0,
      stderr: /^Refunded 0\.08 USD of charge/,
    })
    t.match(await run('ledger', 'refund', id), { code: 1, stderr: /nothing left to refund/ })
    t.match(await run('ledger', 'refund', 'req_none'), { code: 1, stderr: /there is no charge 'req_none'/ })
    t.match(await run('logs', 'show', id), {
      stdout: /0\.08 refunded[^]*^refund {5}0\.08 USD at 20\S+Z by .+: kindness$/m,
    })
    t.match(await run('ledger', 'verify'), { code: 0, stderr: /0 problems/ })
  })

  await t.test('a second gateway on the storage or the address reports the conflict', async t => {
    const elsewhere = await makePlace(t, { TOLLGATE_LISTEN: new URL(url).host })
    const [storage, address] = await Promise.all([run('serve'), elsewhere.run('serve')])
    t.match(storage, {
      code: 1,
      stdout: '',
      stderr: /^another gateway already works on .*tollgate\.db \(\S+:\d+\); stop it/,
    })
    t.match(address, { code: 1, stdout: '', stderr: `${new URL(url).host} is in use by another program` })
    t.match(address.stderr, /TOLLGATE_LISTEN/)
  })

  await t.test('a saved file and SIGHUP are applied and logged; a bad file keeps the old configuration', async t => {
    let from = gateway.said().length
    await place.edit(/(beta-imagine-image: .*2K: )"0.04"/, '$1"0.05"')
    await gateway.hears(
      /^reloaded: revision [0-9a-f]{12}\n {2}price of beta-imagine-image 2K: 0\.04 USD → 0\.05 USD$/m,
      from,
    )
    from = gateway.said().length
    await place.edit('rpm: 60,', 'rpm: sixty,')
    await gateway.hears(
      /^the new configuration was rejected; the old one stays active\n[^]*groups\.default\.rpm/m,
      from,
    )
    from = gateway.said().length
    gateway.process.kill('SIGHUP')
    await gateway.hears(/^the new configuration was rejected/m, from)
    beta.answerOnce({ created: 1, data: [{ url: 'https://pictures.test/1.png' }] })
    const answered = await generate(url, firstKey, { model: 'beta-imagine-image' })
    t.equal(answered.status, 200)
    await answered.text()
    // `root` has a file that cannot be read now.
    const own = ['-c', join(root, 'gateway.yaml')]
    const requestId = String(answered.headers.get('x-request-id'))
    await until(async () => (await run('logs', 'show', requestId, ...own)).code === 0)
    const [log] = jsonLines((await run('logs', '--limit', '1', '--format', 'json', ...own)).stdout)
    t.match(log, { billing: { tier: '2K', amount: '0.05' } }, 'billed by the active configuration')
    from = gateway.said().length
    await place.edit('rpm: sixty,', 'rpm: 60,')
    await gateway.hears(/^reloaded: .*no changes$/m, from)
    from = gateway.said().length
    gateway.process.kill('SIGHUP')
    await gateway.hears(/^reloaded: .*no changes$/m, from)
  })

  await t.test('SIGTERM finishes a request in flight, accepts no new one, and exits with 0', async t => {
    const reached = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    beta.answerOnce(async res => {
      reached.resolve()
      await go.promise
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [picture(64, 64)] }))
    })
    const pending = generate(url, firstKey, { model: 'beta-imagine-image', response_format: 'b64_json' })
    await reached.promise
    gateway.process.kill('SIGTERM')
    await gateway.hears(/^SIGTERM: finishing 1 request, for at most 30 s\. Repeat the signal to stop immediately\.$/m)
    // The gateway stops accepting requests some milliseconds after the message, or later on a busy machine.
    const isShut = async (): Promise<boolean> =>
      fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${firstKey}` } }).then(
        answer => answer.status === 503,
        () => true,
      )
    await until(isShut)
    const late = await generate(url, firstKey, { model: 'alpha-image-2' }).then(
      answer => answer.status,
      () => 'refused',
    )
    t.ok(late === 503 || late === 'refused', `a new request is not taken: ${late}`)
    go.resolve()
    const answered = await pending
    t.equal(answered.status, 200)
    t.match(await answered.json(), { data: [picture(64, 64)] })
    t.equal(await gateway.exit, 0)
    // The newest rows belong to the requests that polled whether the gateway still accepts any.
    const id = answered.headers.get('x-request-id')
    t.match(
      jsonLines((await run('logs', '--limit', '50', '--format', 'json')).stdout).find(log => log['id'] === id),
      { outcome: 'answered', billing: { state: 'settled', amount: '0.05' } },
      'and is in the books',
    )
  })

  t.strictSame(
    jsonLines(gateway.printed()).filter(line => line['msg'] !== 'request' && Number(line['level']) < 40),
    [],
    'standard output is the request log',
  )
  t.notOk(gateway.printed().includes(firstKey))
})

t.test('a second signal ends at once, whatever is in flight', async t => {
  const beta = await startUpstream()
  t.teardown(() => beta.close())
  const place = await makePlace(t, { BETA_URL: beta.url })
  const gateway = await serve(t, place)
  const [, keyFile = ''] = await gateway.hears(/API key \(\S+\) in (\S+) \(mode 600\)/)
  const key = (await readFile(keyFile, 'utf8')).trim()
  const reached = Promise.withResolvers<void>()
  beta.answer(() => reached.resolve())
  const pending = generate(gateway.url, key, { model: 'beta-imagine-image' }).catch(() => 'cut')
  await reached.promise
  gateway.process.kill('SIGINT')
  await gateway.hears(/^SIGINT: finishing 1 request/m)
  gateway.process.kill('SIGINT')
  t.equal(await gateway.exit, 1)
  t.equal(await pending, 'cut')
})
