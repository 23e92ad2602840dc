export type Explanation = { readonly favour: 'ours' | 'neither'; readonly why: string }

/** By the direction and the part of a difference. None was in favour of LiteLLM when they were last judged (1.110.2). */
const judged: readonly (readonly [where: string, path: string, Explanation['favour'], why: string])[] = [
  ['chat → generate request', 'reasoning.show', 'neither', 'it requests thoughts, which chat has no field to request'],
  ['chat → generate request', 'additionalProperties', 'ours', 'it writes the older dialect, and drops the keyword'],
  ['chat → generate request', 'parts[].parts[].text', 'ours', "the vendor's name for a result is `output`"],
  ['chat → generate request', 'seal.value', 'neither', 'the documented placeholder, as text or in base64'],
  [
    'chat → messages request',
    'reasoning.',
    'ours',
    'the vendor refuses thinking with a forced tool, over the limit, or after calls without thoughts',
  ],
  [
    'chat → messages request',
    'sampling.',
    'ours',
    'the vendor refuses both values together, and either one while the model thinks',
  ],
  ['chat → messages request', 'toolChoice.kind only LiteLLM', 'neither', '`auto` is the default'],
  ['chat → responses request', 'wantsSeal', 'ours', 'without the encrypted reasoning a tool loop thinks anew'],
  [
    'chat → responses request',
    'strict',
    'ours',
    'without `strict: false` the format makes optional arguments required',
  ],
  ['chat → responses request', '.user', 'ours', 'the format has a field for it'],
  ['messages → chat', 'usage.reasoning', 'ours', 'the format has a field for it'],
  ['messages → chat request', 'output.name', 'neither', 'any name will do'],
  ['messages → chat request', 'parallelCalls', 'ours', 'the model would make several calls'],
  ['messages → chat request', 'reasoning.effort', 'neither', 'its module for such servers drops it'],
  ['messages → chat request', 'arguments', 'neither', 'the same JSON with other spaces'],
  ['messages → chat request', '.user', 'neither', 'its module for such servers drops it'],
  ['messages → generate', 'usage.reasoning', 'ours', 'the format has a field for it'],
  ['messages → generate request', 'reasoning.effort', 'ours', 'it drops the budget of the client'],
  ['messages → generate request', 'additionalProperties', 'ours', 'it writes the older dialect, and drops the keyword'],
  ['messages → generate request', 'parts[].parts[].text', 'ours', "the vendor's name for a result is `output`"],
  ['messages → generate request', 'seal.value', 'neither', 'the documented placeholder, as text or in base64'],
  ['messages → responses', 'usage.reasoning', 'ours', 'the format has a field for it'],
  ['messages → responses request', 'output.name', 'neither', 'any name will do'],
  ['messages → responses request', 'parallelCalls', 'ours', 'the model would make several calls'],
  ['messages → responses request', 'reasoning.effort', 'ours', 'it drops the budget of the client'],
  ['messages → responses request', 'wantsSeal', 'ours', 'without the encrypted reasoning a tool loop thinks anew'],
  [
    'messages → responses request',
    'strict',
    'ours',
    'without `strict: false` the format makes optional arguments required',
  ],
  ['messages → responses request', 'turns[].parts[]', 'ours', 'it changes the order of a text and the calls after it'],
  ['responses → generate request', 'reasoning.show', 'neither', 'it requests thoughts that the client did not request'],
  [
    'responses → generate request',
    'additionalProperties',
    'ours',
    'it writes the older dialect, and drops the keyword',
  ],
  ['responses → generate request', 'parts[].parts[].text', 'ours', "the vendor's name for a result is `output`"],
  ['responses → generate request', 'seal.value', 'neither', 'the documented placeholder, as text or in base64'],
  [
    'responses → messages request',
    'reasoning.',
    'ours',
    'the vendor refuses thinking with a forced tool, over the limit, or after calls without thoughts',
  ],
  [
    'responses → messages request',
    'sampling.',
    'ours',
    'the vendor refuses both values together, and either one while the model thinks',
  ],
  ['responses → messages request', 'toolChoice.kind only LiteLLM', 'neither', '`auto` is the default'],
  ['responses → messages request', '.user', 'ours', 'the format has a field for it'],
  ['messages → responses stream', '.parts[].', 'ours', 'it sends an empty text'],
  ['responses → chat request', 'reasoning.effort', 'neither', 'its module for such servers drops it'],
  ['responses → chat request', 'detail', 'neither', '`auto` is the default'],
]

/** Why a kind of difference is there; undefined for one that nobody has judged. */
export function explain(key: string): Explanation | undefined {
  const found = judged.find(([where, path]) => key.startsWith(where) && key.includes(path))
  return found && { favour: found[2], why: found[3] }
}
