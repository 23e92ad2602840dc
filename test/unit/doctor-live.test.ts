import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { listRecipes } from '../../src/index.ts'
import { makeFolder } from '../harness/folder.ts'

t.test(
  '[10] doctor --live buys the smallest picture of each operation after a confirmation, and reports the result',
  async t => {
    const place = await makeFolder(t)
    const begun = await place.run('init', '--vendor', 'xai-grok-imagine', '--vendor', 'fal')
    t.match(begun, { code: 0 })

    const nothing = await place.run('doctor', '--live-all', '--yes')
    t.match(nothing, { code: 2, stdout: '', stderr: /no image model has a real upstream/ }, 'simulated ones are none')
    const unknown = await place.run('doctor', '--live', 'nobody', '--simulated', '--yes')
    t.match(unknown, { code: 2, stdout: '', stderr: /nobody: cannot be tested; available: .*fal-ai\/flux\/dev/ })

    const live = ['doctor', '--live', 'fal-ai/flux/dev', '--simulated']
    const offer = await place.run(...live)
    t.match(offer, { code: 2, stdout: '' }, 'nothing is bought unasked')
    t.match(offer.stderr, /^buys {2}fal-ai\/flux\/dev {2}image\.generate {2}at most \d.* USD$/m)
    t.match(offer.stderr, /Nothing was sent\. Use --yes/)

    const bought = await place.run(...live, '--yes', '--format', 'json')
    t.equal(bought.code, 0, bought.stderr)
    const results = bought.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as object)
    t.match(results, [
      {
        model: 'fal-ai/flux/dev',
        operation: 'image.generate',
        status: 200,
        pictures: [/^\d+x\d+$/],
        error: null,
        unrecognised: null,
      },
      {
        operation: 'image.edit',
        status: 200,
        charge: { state: 'settled', currency: 'USD', amount: /^\d/ },
        error: null,
      },
    ])
    const grok = (await listRecipes()).find(({ name }) => name === 'xai-grok-imagine')?.models[0]?.name ?? ''
    const result = await place.run('doctor', '--live', grok, '--simulated', '--yes')
    t.match(result.stdout, /^ok {4}grok-imagine-\S+ {2}image\.generate {2}status 200 /m)
    t.match(
      result.stdout,
      /charged {2}[\d.]+ USD \(settled\); the vendor reported [\d.]+/,
      'what it charges beside what we do',
    )

    const file = place.path('gateway.yaml')
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('answer: { at: images,', 'answer: { at: pictures,'))
    const wrong = await place.run(...live, '--yes')
    t.match(wrong, { code: 1, stderr: /2 of 2 failed/ })
    t.match(wrong.stdout, /^fail {2}fal-ai\/flux\/dev {2}image\.generate {2}status 502 /m)
    t.match(wrong.stdout, /^ +unknown {2}.*images/m, 'content that the description does not cover')
  },
)
