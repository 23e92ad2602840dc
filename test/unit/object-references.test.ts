import t from 'tap'
import { scanObject } from '../../src/engine/fields.ts'
import { caseName } from '../harness/case-name.ts'

const found = (text: string): readonly string[] =>
  scanObject(Buffer.from(text)).declared.objects.map(({ kind, id, place }) => `${kind} ${id} ${place}`)

t.test('finds references to stored objects at any depth and in any spelling of their names', t => {
  for (const [body, wanted] of [
    [{ previous_response_id: 'r' }, ['response r previous_response_id']],
    [{ conversation: 'c' }, ['conversation c conversation']],
    [{ conversation: { id: 'c', x: 'y' } }, ['conversation c conversation']],
    [{ input: [{ content: [{ file_id: 'f' }, { file_id: 'g' }] }] }, ['file f input', 'file g input']],
    [
      {
        input: [
          { type: 'item_reference', id: 'i' },
          { type: 'message', id: 'm' },
        ],
      },
      ['item i input'],
    ],
    [
      {
        input: [
          { id: 'i', role: null },
          { type: null, id: 'j' },
        ],
      },
      ['item i input', 'item j input'],
    ],
    [{ items: [{ id: 'i', status: 'x' }] }, ['item i items']],
    [{ a: { container: { id: 'k', file_ids: ['f', 'g'] } } }, ['container k a', 'file f a', 'file g a']],
    [{ tools: [{ type: 'x', vector_store_ids: ['v', 'w'] }] }, ['vector store v tools', 'vector store w tools']],
    [{ cachedContent: 'cachedContents/1' }, ['cached content cachedContents/1 cachedContent']],
    [{ contents: [{ parts: [{ fileData: { fileUri: 'https://h/v1beta/files/a' } }] }] }, ['file files/a contents']],
    [{ contents: [{ parts: [{ file_data: { file_uri: 'files/a' } }] }] }, ['file files/a contents']],
    [
      { contents: [{ fileData: { fileUri: `https://x:${'y'.repeat(300)}@h/v1beta/files/a` } }] },
      ['file files/a contents'],
    ],
    [{ previous_response_id: 'r'.repeat(1024) }, [`response ${'r'.repeat(1024)} previous_response_id`]],
    [{ previous_response_id: 'r'.repeat(1025) }, [`response ${'r'.repeat(1024)}… previous_response_id`]],
    [{ messages: [{ content: [{ source: { type: 'file', file_id: 'f' } }] }] }, ['file f messages']],
    [{ input: [{ type: 'x', output: [{ file_id: 'f' }] }] }, ['file f input']],
  ] as const)
    t.strictSame(found(JSON.stringify(body)), wanted, caseName({ body: JSON.stringify(body) }))
  t.strictSame(found(String.raw`{"input":[{"file_id":"f"}]}`), ['file f input'])
  t.strictSame(found(String.raw`{"input":[{"\u0069d":"i","typ\u0065":null}]}`), ['item i input'])
  t.strictSame(found(String.raw`{"input":[{"FileId":"\u0066"}]}`), ['file f input'])
  t.end()
})

t.test('finds no references in text of clients and their tools', t => {
  for (const body of [
    { metadata: { file_id: 'f', conversation: 'c' } },
    { messages: [{ content: [{ type: 'tool_use', id: 'i', name: 'n', input: { file_id: 'f' } }] }] },
    { contents: [{ parts: [{ functionCall: { name: 'n', args: { file_id: 'f', container: 'k' } } }] }] },
    { contents: [{ parts: [{ functionResponse: { name: 'n', response: { file_id: 'f' } } }] }] },
    { tools: [{ type: 'function', parameters: { properties: { file_id: { type: 'string' } } } }] },
    { messages: [{ role: 'user', content: 'file_id: f' }] },
    { contents: [{ parts: [{ fileData: { fileUri: 'https://www.example.com/watch?v=1' } }] }] },
    { contents: [{ parts: [{ fileData: { fileUri: 'gs://bucket/a.png' } }] }] },
    { previous_response_id: null, conversation: null },
    { x: { conversation: 'c', previous_response_id: 'r' } },
    { input: [{ type: 'message', id: 'm' }] },
    {
      input: [
        { role: 'user', content: 'x', id: 'm' },
        { id: 'm', content: 'x', role: 'user' },
      ],
    },
    { input: [{ id: 'm', type: 'message' }, { type: 'x' }, {}, 'text', { id: 7 }] },
    { input: [{ role: 'user', content: [{ id: 'm' }] }] },
    { messages: [{ id: 'm' }], documents: [{ id: 'd' }] },
  ])
    t.strictSame(found(JSON.stringify(body)), [], caseName({ body: JSON.stringify(body) }))
  t.end()
})
