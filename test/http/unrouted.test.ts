import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { quietLog, start } from '../harness/start.ts'

const send = async (url: string, text: string): Promise<string> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined).end(text)
  let answer = ''
  socket.on('data', chunk => (answer += String(chunk)))
  await once(socket, 'close')
  return answer
}

t.test('counts refusals before routing by code, and keeps no request in flight', async t => {
  const logged: { facts: { code?: string; times?: number; path?: string; method?: string }; text: string }[] = []
  const log = { ...quietLog(), info: (facts: object, text: string) => void logged.push({ facts, text }) }
  const { url, opsUrl, post } = await start(t, {
    simulated: true,
    log,
    edit: [['origins: []', 'origins: [https://a.example]']],
  })
  const secret = `sk-${'a'.repeat(43)}`
  for (let i = 0; i < 3; i++) await fetch(`${url}/v1/nothing/${secret}/more/and/more?key=${secret}`)
  await fetch(`${url}/v1/chat/completions`)
  await fetch(`${url}/v1//models`)
  const preflight = { origin: 'https://a.example', 'access-control-request-method': 'POST' }
  t.equal((await fetch(`${url}/v1/chat/completions`, { method: 'OPTIONS', headers: preflight })).status, 204)
  t.match(await send(url, 'no request at all\r\n\r\n'), /^HTTP\/1\.1 400 /)
  t.equal((await post('/v1/chat/completions', { model: 'none' })).status, 404, 'with a route it has a row of the log')

  const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
  const count = (code: string) =>
    Number(new RegExp(`^tollgate_refusals_total\\{code="${code}"\\} (\\d+)$`, 'm').exec(metrics)?.[1])
  t.same(['not_found', 'method_not_allowed', 'path_invalid', 'request_malformed'].map(count), [3, 1, 1, 1])
  t.match(metrics, /^tollgate_requests_in_flight 0$/m)

  const lines = logged.filter(({ text }) => text === 'requests were refused before routing')
  t.same(
    lines.map(({ facts }) => [facts.code, facts.times, facts.method, facts.path]),
    [
      ['not_found', 1, 'GET', '/v1/nothing/…/…'],
      ['method_not_allowed', 1, 'GET', '/v1/chat/completions'],
      ['path_invalid', 1, 'GET', '/v1//models'],
      ['request_malformed', 1, undefined, undefined],
    ],
    'one line of each code in a minute',
  )
  t.notMatch(JSON.stringify(logged), secret)
})

t.test('reports the number of further refusals after a minute', async t => {
  let ms = 0
  const logged: { code?: string; times?: number }[] = []
  const log = {
    ...quietLog(),
    info: (facts: { code?: string; times?: number }) => void (facts.times && logged.push(facts)),
  }
  const clock = { now: () => Date.now() + ms, tick: () => performance.now() + ms }
  const { url } = await start(t, { simulated: true, log, clock })
  for (let i = 0; i < 5; i++) await fetch(`${url}/nothing`)
  ms += 61_000
  await fetch(`${url}/nothing`)
  t.match(logged, [
    { code: 'not_found', times: 1 },
    { code: 'not_found', times: 5 },
  ])
})
