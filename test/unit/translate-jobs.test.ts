import t from 'tap'
import {
  type UpstreamClient,
  createResponseMetadata,
  type UpstreamResponse,
  type UpstreamRequest,
} from '../../src/plugin-api/index.ts'
import { describe } from '../../plugins/translate/describe.ts'
import { awaitJob, readTaken } from '../../plugins/translate/job.ts'
import { shapeRequest } from '../../plugins/translate/shape-request.ts'
import { scanObject } from '../../src/engine/fields.ts'
import type { Section } from '../../plugins/translate/schema.ts'

const job = {
  id: 'id',
  poll: { path: '/v1/tasks/{id}' },
  state: 'status',
  running: ['Pending'],
  done: ['Ready'],
  failed: ['Failed'],
  every: '1s',
  within: '10m',
}

function heard(value: object, status = 200): UpstreamResponse {
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: (async function* () {
      yield Buffer.from(JSON.stringify(value))
    })(),
  }
}

function polling(section: object, deadlineAt: number) {
  const reading = describe({ job, ...section } as Section)
  if (!reading.job) throw new Error('it describes no job')
  return {
    reading,
    job: reading.job,
    model: 'm',
    metadata: createResponseMetadata(),
    deadlineAt,
    now: () => 1_000,
    random: { bytes: (size: number) => Buffer.alloc(size) },
    claim: { take: () => true, give: () => undefined },
  }
}

function answering(value: object): { readonly asker: UpstreamClient; readonly asked: UpstreamRequest[] } {
  const asked: UpstreamRequest[] = []
  const asker = {
    ask(question: UpstreamRequest) {
      asked.push(question)
      return Promise.resolve(heard(value))
    },
    sleep: () => Promise.resolve(),
  } as unknown as UpstreamClient
  return { asker, asked }
}

t.test('[10.5] a job whose time passed unpolled is polled once more', async t => {
  const { asker, asked } = answering({ status: 'Ready' })
  t.match(await awaitJob(asker, { id: 'a' }, polling({}, 0)), { status: 200 })
  t.equal(asked.length, 1)
  const still = answering({ status: 'Pending' })
  await t.rejects(awaitJob(still.asker, { id: 'a' }, polling({}, 0)), { code: 'job_timeout' })
  t.equal(still.asked.length, 1)
})

t.test('[10.5] an id leads only to its job', async t => {
  for (const id of ['../../v1/keys', 'a/../b', '..', './x', 'a/..']) {
    const { asker, asked } = answering({ status: 'Ready' })
    await t.rejects(awaitJob(asker, { id }, polling({}, 9_000)), { code: 'upstream_answer_undescribed' }, id)
    t.strictSame(asked, [], id)
  }
  const { asker, asked } = answering({ status: 'Ready' })
  await awaitJob(asker, { id: 'models/{model}/op..1?x#y' }, polling({}, 9_000))
  t.equal(asked[0]?.path, '/v1/tasks/models/%7Bmodel%7D/op..1%3Fx%23y')
})

t.test('[10.5] the cost of a refusal is known for one that ends a job', async t => {
  const section = { refused: [{ if: { status: 'Moderated' }, charge: 'refusal', code: 'moderated', status: 400 }] }
  const { asker } = answering({ status: 'Moderated', message: 'no' })
  const terms = polling(section, 9_000)
  await t.rejects(awaitJob(asker, { id: 'a' }, terms), { message: 'no', code: 'moderated' })
  t.equal(terms.metadata.refusalPrice, 'refusal')
})

t.test('[10.5] an answer without pictures that reports a running job is no refusal', async t => {
  const section = { refused: [{ if: { result: 'none' }, code: 'refused', status: 400 }] }
  t.match(await readTaken(heard({ id: 'j1', status: 'Pending' }), polling(section, 9_000)), {
    kind: 'job',
    note: { id: 'j1' },
  })
})

/** A budget of this many bytes. */
function budgetOf(bytes: number) {
  let held = 0
  let most = 0
  const claim = {
    take(more: number): boolean {
      if (held + more > bytes) return false
      held += more
      most = Math.max(most, held)
      return true
    },
    give: (less: number): void => void (held -= less),
  }
  return { claim, held: () => held, most: () => most }
}

/** An upstream that answers polls in turn, in pieces as a connection delivers them. */
function polled(...answers: readonly string[]): { readonly asker: UpstreamClient; readonly asked: () => number } {
  let calls = 0
  const ask = (): Promise<UpstreamResponse> => {
    const text = answers[Math.min(calls++, answers.length - 1)] as string
    const body = (async function* () {
      for (let at = 0; at < text.length; at += 65_536) yield Buffer.from(text.slice(at, at + 65_536))
    })()
    return Promise.resolve({ status: 200, headers: { 'content-type': 'application/json' }, body })
  }
  return { asker: { ask, sleep: () => Promise.resolve() } as unknown as UpstreamClient, asked: () => calls }
}

async function textOf(heard: UpstreamResponse): Promise<string> {
  let text = ''
  for await (const chunk of heard.body) text += chunk.toString()
  return text
}

t.test('[10.5] an answer about a job is billed while it is held, and passed on unchanged', async t => {
  const picture = 'A'.repeat(300_000)
  const running = JSON.stringify({ noise: Array.from({ length: 20_000 }, (_, i) => i), status: 'Pending' })
  const done = JSON.stringify({ picture, status: 'Ready' })
  const { asker, asked } = polled(running, running, done)
  const { claim, held, most } = budgetOf(400_000)
  const answer = await awaitJob(asker, { id: 'a' }, { ...polling({}, 9_000), claim })
  t.equal(asked(), 3)
  t.ok(held() >= done.length && most() < 400_000, "memory of a running job's answer is returned")
  t.equal(await textOf(answer), done)
  t.equal(held(), 0, 'memory of a repeated read is returned')
})

t.test("[10.5] of an answer about a job with its result elsewhere only an error's words are held", async t => {
  const own = { ...job, result: { path: '/result/{id}' } }
  const large = JSON.stringify({ log: 'x'.repeat(500_000), status: 'Ready' })
  const { asker, asked } = polled(large, '{"data":[]}')
  const { claim, held, most } = budgetOf(200_000)
  const answer = await awaitJob(asker, { id: 'a' }, { ...polling({ job: own }, 9_000), claim })
  t.equal(await textOf(answer), '{"data":[]}')
  t.equal(asked(), 2)
  t.ok(most() > 0 && most() < 140_000)
  t.equal(held(), 0)
})

t.test('[10.5] a job is polled again if there was no memory for its answer', async t => {
  const done = JSON.stringify({ picture: 'A'.repeat(300_000), status: 'Ready' })
  const { asker, asked } = polled(done)
  const { claim, held } = budgetOf(400_000)
  let isFull = true
  const busy = {
    take: (bytes: number): boolean => {
      if (isFull && held() + bytes > 100_000) {
        isFull = false
        return false
      }
      return claim.take(bytes)
    },
    give: claim.give,
  }
  const answer = await awaitJob(asker, { id: 'a' }, { ...polling({}, 9_000), claim: busy })
  t.equal(asked(), 2)
  t.equal((await textOf(answer)).length, done.length)
  t.equal(held(), 0)
})

t.test("[10.5] a job's values are found anywhere, however they are written and split", async t => {
  const answers = {
    'behind everything': '{"a":[{"status":"Failed"},[1,"Failed"]],"status":"Ready"}',
    'in a list': '[{"status":"Ready"}]',
    'with an escaped name': String.raw`{"\u0073tatus":"R\u0065ady"}`,
    'between blanks': ' \n{ "status" :\t"Ready" } \r\n',
  }
  for (const [name, text] of Object.entries(answers)) {
    const body = (async function* () {
      for (const byte of Buffer.from(text)) yield Buffer.from([byte])
    })()
    const heard = { status: 200, headers: {}, body }
    const asker = { ask: () => Promise.resolve(heard), sleep: () => Promise.resolve() } as unknown as UpstreamClient
    const answer = await awaitJob(asker, { id: 'a' }, polling({}, 9_000))
    t.equal(await textOf(answer), text, name)
  }
  for (const text of ['{"status":"Ready"', '{"status":"Ready"}}', '{"status":"Ready",}', 'Ready', '']) {
    const { asker } = polled(text)
    await t.rejects(awaitJob(asker, { id: 'a' }, polling({}, 0)), { code: 'job_timeout' }, JSON.stringify(text))
  }
})

t.test('a request with more pictures than any vendor accepts is refused before any is read', t => {
  const section = { request: { images: [{ url: '{image.url}' }] } } as unknown as Section
  const shape = (count: number): unknown => {
    const images = Array.from({ length: count }, (_, i) => `https://a.example/${i}`)
    const body = { kind: 'json', json: scanObject(Buffer.from(JSON.stringify({ images }))) } as const
    return shapeRequest(
      section,
      { body, model: 'm', n: 1, requestedSize: undefined },
      { bytes: size => Buffer.alloc(size) },
    ).value
  }
  t.equal((shape(256) as { images: readonly object[] }).images.length, 256)
  t.throws(() => shape(257), { code: 'too_many_input_pictures', status: 400, param: 'images' })
  t.end()
})
