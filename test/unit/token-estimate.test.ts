import t from 'tap'
import { estimateOutput } from '../../plugins/token-usage/estimate-request.ts'
import { scanObject } from '../../src/engine/fields.ts'
import type { Json } from '../../src/kit/index.ts'

const longest = (fields: { readonly [name: string]: Json }): number =>
  estimateOutput({ kind: 'json', json: scanObject(Buffer.from(JSON.stringify(fields))) }, 4096)

t.test('[6.3] what is held for an answer is the longest that the request admits, in every spelling', async t => {
  const rows: [string, { readonly [name: string]: Json }, number][] = [
    ['nothing said', {}, 4096],
    ['choices alone', { n: 3 }, 3 * 4096],
    ['chat', { max_tokens: 7, n: 2 }, 14],
    ['two limits', { max_tokens: 7, max_completion_tokens: 9 }, 9],
    ['responses', { max_output_tokens: 11 }, 11],
    ['generative', { generationConfig: { maxOutputTokens: 7, candidateCount: 2 } }, 14],
    ['generative, spelled with underscores', { generationConfig: { max_output_tokens: 7, candidate_count: 2 } }, 14],
    ['the same outside too', { generation_config: { max_output_tokens: 7, candidate_count: 2 } }, 14],
    ['no object at all', { generationConfig: 'x' }, 4096],
    ['more than any model answers with', { max_tokens: 1e12 }, 1_000_000],
  ]
  for (const [what, fields, tokens] of rows) t.equal(longest(fields), tokens, what)
})
