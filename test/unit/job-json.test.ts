import t from 'tap'
import { jobJson } from '../../src/gateway/job-json.ts'
import type { Job } from '../../src/domain/index.ts'

const job = { id: 'req_1', state: 'done', model: 'm', operation: 'image.generate', createdAt: 5_000, endedAt: 9_000 }

async function jobText(body: string | null): Promise<string> {
  const answer = body === null ? null : { status: 200, headers: {}, body: Buffer.from(body) }
  return (await jobJson({ ...job, answer } as unknown as Job)).toString()
}

const head =
  '{"id":"req_1","object":"job","status":"succeeded","created":5,"ended":9,"model":"m","operation":"image.generate"'

t.test('a job is returned with its answer byte for byte, however large', async t => {
  const answers = ['{"created":1,"data":[ {"b64_json":"AAAA"} ]}', `{"data":[{"b64_json":"${'A'.repeat(300_000)}"}]}`]
  for (const answer of answers) {
    const text = await jobText(answer)
    t.equal(text, `${head},"response_status":200,"response":${answer}}`, answer.slice(0, 40))
    t.match(JSON.parse(text), { response: JSON.parse(answer) }, `parsed: ${answer.slice(0, 40)}`)
  }
})

t.test('an answer other than a JSON object becomes null, so that the result stays JSON', async t => {
  for (const answer of ['<html>', '', '[1', '{"a":"\n"}', `{"a":"${'A'.repeat(100_000)}"`, '{"a":1} {"b":2}'])
    t.equal(
      await jobText(answer),
      `${head},"response_status":200,"response":null}`,
      JSON.stringify(answer.slice(0, 20)),
    )
  t.equal(await jobText(null), `${head},"response_status":null,"response":null}`)
})
