import t from 'tap'
import { estimateOutput } from '../../plugins/token-usage/estimate-request.ts'
import { scanObject } from '../../src/engine/fields.ts'
import type { Json, OperationTraits } from '../../src/domain/index.ts'

const longest = (fields: { readonly [name: string]: Json }, traits?: OperationTraits): number =>
  estimateOutput({ kind: 'json', json: scanObject(Buffer.from(JSON.stringify(fields))) }, 4096, traits)

const chat = { answerLimits: ['max_completion_tokens', 'max_tokens'] }

t.test('fields of another format, and text, never reduce a hold', async t => {
  const rows: [string, { readonly [name: string]: Json }, number][] = [
    ['its own', { max_tokens: 7 }, 7],
    ['another style alone', { max_output_tokens: 1 }, 4096],
    ['its own and another, less', { max_tokens: 7, generationConfig: { maxOutputTokens: 1 } }, 7],
    ['its own and another, more', { max_tokens: 7, max_output_tokens: 9 }, 9],
    ['more than is held otherwise', { max_output_tokens: 5000 }, 5000],
    ['text', { max_tokens: '7' }, 4096],
    ['text of more', { max_tokens: '100000' }, 100_000],
    ['choices as text', { max_tokens: 7, n: '100' }, 700],
    ['no number', { max_tokens: 'many', n: 'some' }, 4096],
  ]
  for (const [what, fields, tokens] of rows) t.equal(longest(fields, chat), tokens, what)
})

t.test('[6.3] the hold is for the longest answer that the request allows, in every spelling', async t => {
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
