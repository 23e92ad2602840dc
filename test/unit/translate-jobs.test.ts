import t from 'tap'
import { type Asker, createTold, type Heard, type Question } from '../../src/kit/index.ts'
import { describe } from '../../plugins/translate/describe.ts'
import { awaitJob, readTaken } from '../../plugins/translate/job.ts'
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

function heard(value: object, status = 200): Heard {
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
    told: createTold(),
    deadlineAt,
    now: () => 1_000,
    random: { bytes: (size: number) => Buffer.alloc(size) },
    claim: () => true,
  }
}

function answering(value: object): { readonly asker: Asker; readonly asked: Question[] } {
  const asked: Question[] = []
  const asker = {
    ask(question: Question) {
      asked.push(question)
      return Promise.resolve(heard(value))
    },
    sleep: () => Promise.resolve(),
  } as unknown as Asker
  return { asker, asked }
}

t.test('[10.5] a job whose time has passed while nobody asked is asked for once more', async t => {
  const { asker, asked } = answering({ status: 'Ready' })
  t.match(await awaitJob(asker, { id: 'a' }, polling({}, 0)), { status: 200 })
  t.equal(asked.length, 1)
  const still = answering({ status: 'Pending' })
  await t.rejects(awaitJob(still.asker, { id: 'a' }, polling({}, 0)), { code: 'job_timeout' })
  t.equal(still.asked.length, 1)
})

t.test('[10.5] an id leads nowhere but to the job', async t => {
  for (const id of ['../../v1/keys', 'a/../b', '..', './x', 'a/..']) {
    const { asker, asked } = answering({ status: 'Ready' })
    await t.rejects(awaitJob(asker, { id }, polling({}, 9_000)), { code: 'upstream_answer_undescribed' }, id)
    t.strictSame(asked, [], id)
  }
  const { asker, asked } = answering({ status: 'Ready' })
  await awaitJob(asker, { id: 'models/{model}/op..1?x#y' }, polling({}, 9_000))
  t.equal(asked[0]?.path, '/v1/tasks/models/%7Bmodel%7D/op..1%3Fx%23y')
})

t.test('[10.5] what a refusal costs is known of one that a job ends with', async t => {
  const section = { refused: [{ if: { status: 'Moderated' }, charge: 'refusal', code: 'moderated', status: 400 }] }
  const { asker } = answering({ status: 'Moderated', message: 'no' })
  const terms = polling(section, 9_000)
  await t.rejects(awaitJob(asker, { id: 'a' }, terms), { message: 'no', code: 'moderated' })
  t.equal(terms.told.refusalPrice, 'refusal')
})

t.test('[10.5] an answer without pictures that says that a job runs is no refusal', async t => {
  const section = { refused: [{ if: { result: 'none' }, code: 'refused', status: 400 }] }
  t.match(await readTaken(heard({ id: 'j1', status: 'Pending' }), polling(section, 9_000)), {
    kind: 'job',
    note: { id: 'j1' },
  })
})
