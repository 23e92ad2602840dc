/** Fragments with a meaning for some reader. */
const words = [
  '"',
  '\\',
  '\\"',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\n',
  '\r\n',
  '\r',
  '\n\n',
  ' ',
  '\t',
  '\u0000',
  '\ufeff',
  'data: ',
  'event: ',
  '"data":',
  '"b64_json":',
  '"url":',
  '"type":',
  '"index":0',
  'null',
  '[]',
  '{}',
  '{{P1.png.300}}',
  '{{L2.png.300}}',
  '{{P3.jpeg.900}}',
  'image_generation.completed',
  'image_generation.partial_image',
  'image_generation_call',
  '\r\n--xY\r\n',
  '--xY--',
  '\\u0061',
]

/** A case that differs in one of its texts of this name, or in a number; `other` provides fragments for it. */
export function mutate(one: unknown, other: unknown, text: string, random: () => number): unknown {
  const leaves = leavesOf(one)
  const texts = leaves.filter(path => path.at(-1) === text && typeof at(one, path) === 'string')
  const numbers = leaves.filter(path => typeof at(one, path) === 'number')
  const pool = numbers.length === 0 || (texts.length > 0 && random() < 0.8) ? texts : numbers
  const path = pool[Math.floor(random() * pool.length)]
  return path === undefined ? one : put(one, path, changeLeaf(at(one, path), other, random))
}

type Path = readonly string[]

function leavesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([name, one]) => leavesOf(one, [...path, name]))
}

function at(value: unknown, path: Path): unknown {
  return path.reduce((inside, name) => (inside as { [name: string]: unknown })[name], value)
}

function put(value: unknown, [name, ...rest]: Path, leaf: unknown): unknown {
  if (name === undefined) return leaf
  if (Array.isArray(value)) return value.with(Number(name), put(value[Number(name)], rest, leaf))
  const inside = value as { [name: string]: unknown }
  return { ...inside, [name]: put(inside[name], rest, leaf) }
}

/** Values other than texts and numbers stay: they define the kind of case. */
function changeLeaf(leaf: unknown, other: unknown, random: () => number): unknown {
  if (typeof leaf === 'number') return Math.max(0, Math.trunc(leaf * random() * 2 + (random() < 0.3 ? 1 : 0)))
  if (typeof leaf !== 'string') return leaf
  const [a, b] = [random() * leaf.length, random() * leaf.length].map(Math.floor).toSorted((x, y) => x - y) as [
    number,
    number,
  ]
  const how = Math.floor(random() * 5)
  if (how === 0) return leaf.slice(0, a) + leaf.slice(b)
  if (how === 1) return leaf.slice(0, b) + leaf.slice(a)
  if (how === 2) return leaf.slice(0, a) + pieceOf(other, random) + leaf.slice(b - a < 20 ? b : a)
  return leaf.slice(0, a) + (words[Math.floor(random() * words.length)] ?? '') + leaf.slice(how === 3 ? a : a + 1)
}

function pieceOf(other: unknown, random: () => number): string {
  const texts = leavesOf(other)
    .map(path => at(other, path))
    .filter(text => typeof text === 'string')
  const text = texts[Math.floor(random() * texts.length)] ?? ''
  const from = Math.floor(random() * text.length)
  return text.slice(from, from + 1 + Math.floor(random() * 200))
}
