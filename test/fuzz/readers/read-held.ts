import { findPictures, linkPattern, markOf, wholePicture } from './made.ts'
import { type Record, readEvents } from './read-events.ts'
import { readJson, readJsonAt, readNamed, readStrings, skipBlank, type Tree } from './read-json.ts'

/**
 * The upstream's pictures that a client has: the marks of those whose bytes it received, and the number of links to
 * others.
 */
export type Held = { readonly pictures: ReadonlySet<string>; readonly links: number }

/** Events with previews of a picture in progress, which are never charged. */
const previews: ReadonlySet<string> = new Set([
  'image_generation.partial_image',
  'image_edit.partial_image',
  'response.image_generation_call.partial_image',
])
/** The value of this member is a preview in every position. */
const previewName = 'partial_image_b64'
/** Members with prose: a link in one is not a picture of this answer. */
const sentences = new Set(['revised_prompt', 'prompt', 'message', 'text', 'instructions', 'detail', 'description'])
/** The first characters of a picture in base64, in both alphabets. */
const beginnings = /iVBORw0KGgo|[/_]9j[/_]|R0lGOD|UklGR/g
const base64Run = /[A-Za-z0-9+/_-]+={0,2}/y

/**
 * Everything that a client with these bytes can obtain by any means: this decodes them in every way, unescapes every
 * string, joins the lines of every event, and checks every possible beginning of a picture for a complete one.
 *
 * @param idOf the picture with these bytes: a link to it next to them does not count
 */
export function readHeld(bytes: Buffer, idOf: (mark: string) => number | undefined): Held {
  const pictures = new Set<string>(findPictures(bytes).map(markOf))
  let links = 0
  for (const text of decode(bytes)) {
    const events = readEvents(text)
    const shown = events.filter(isPreview)
    const final = shown.length === 0 ? events : events.filter(record => !isPreview(record))
    const raw = shown.length === 0 ? [text] : final.map(({ lines }) => lines.join('\n'))
    const texts = [...new Set([...raw, ...final.flatMap(spell)])].filter(one => one !== '')
    for (const mark of texts.flatMap(findCoded)) pictures.add(mark)
    links = Math.max(links, countLinks(texts, pictures, idOf))
  }
  return { pictures, links }
}

/** A record's data as a reader joins it, and without the line ends in between. */
function spell({ data, lines }: Record): readonly string[] {
  return data.includes('\n') ? [data, data.replaceAll('\n', ''), lines.join('')] : [data]
}

/** Whether every name of the record marks it as a preview, apart from blanks. */
function isPreview({ event, data }: Record): boolean {
  const names = typesOf(data)
  if (event !== '') names.push(event)
  return names.length > 0 && names.every(name => previews.has(name.trim()))
}

/** The types in a record; for a cut record, those before the cut. */
function typesOf(data: string): string[] {
  const tree = readJson(data)
  if (!tree) return [...readNamed(data, new Set(['type']))]
  const types = tree.kind === 'object' ? tree.members.filter(([name]) => name === 'type') : []
  return types.map(([, value]) => (value.kind === 'string' ? value.text : ''))
}

/** As UTF-8, and as UTF-16 in both byte orders if it contains zeros. */
function decode(bytes: Buffer): readonly string[] {
  const texts = [bytes.toString('utf8').replace(/^\uFEFF/, '')]
  if (!bytes.includes(0)) return texts
  const even = bytes.subarray(0, bytes.length - (bytes.length % 2))
  return [...texts, even.toString('utf16le').replace(/^\uFEFF/, ''), Buffer.from(even).swap16().toString('utf16le')]
}

/** The marks of all base64 pictures in a text. */
function findCoded(text: string): readonly string[] {
  const found: string[] = []
  const shown = new Set(readNamed(text, new Set([previewName])))
  const rest = [...shown].reduce((left, one) => left.replaceAll(one, ''), text)
  for (const one of [rest, ...readStrings(text).filter(other => !shown.has(other))]) {
    const dense = one.replace(/\s+/g, '')
    for (const { index } of dense.matchAll(beginnings)) {
      base64Run.lastIndex = index
      const run = base64Run.exec(dense)?.[0] ?? ''
      const picture = run.length < 200 ? undefined : wholePicture(Buffer.from(run, 'base64'))
      if (picture) found.push(markOf(picture))
    }
  }
  return found
}

/** The links in one object: forms of one picture. */
type Group = ReadonlySet<number>
/** The links in the JSON of a text: groups that are pictures, and all links. */
type Said = { readonly groups: Group[]; readonly links: Set<number> }

function countLinks(
  texts: readonly string[],
  pictures: ReadonlySet<string>,
  idOf: (mark: string) => number | undefined,
): number {
  const gathered: Said = { groups: [], links: new Set() }
  const rest = texts.map(text => gatherAll(text, gathered))
  // A link outside of JSON counts alone.
  const alone = rest.flatMap(linksOf).filter(id => !gathered.links.has(id))
  const paid = new Set([...pictures].map(idOf))
  const counted = new Set<number>()
  let count = 0
  for (const group of [...gathered.groups, ...alone.map(id => new Set([id]))]) {
    const isKnown = [...group].some(id => paid.has(id) || counted.has(id))
    for (const id of group) counted.add(id)
    if (!isKnown) count++
  }
  return count
}

/** Reads a text of one or several documents; returns the rest after the JSON ends. */
function gatherAll(text: string, gathered: Said): string {
  for (let at = skipBlank(text, 0); at < text.length; ) {
    const read = readJsonAt(text, at)
    if (!read) return text.slice(at)
    gather(read.tree, gathered)
    at = skipBlank(text, read.end)
  }
  return ''
}

function gather(tree: Tree, gathered: Said): void {
  if (tree.kind === 'array') for (const element of tree.elements) gather(element, gathered)
  if (tree.kind === 'string') {
    for (const id of linksOf(tree.text)) {
      gathered.links.add(id)
      gathered.groups.push(new Set([id]))
    }
  }
  if (tree.kind !== 'object') return
  const own = new Set<number>()
  let hasBytes = false
  for (const [name, value] of tree.members) {
    if (value.kind !== 'string') {
      gather(value, gathered)
      continue
    }
    hasBytes ||= findCoded(value.text).length > 0
    for (const id of linksOf(value.text)) {
      gathered.links.add(id)
      if (!sentences.has(name)) own.add(id)
    }
  }
  // A link next to a picture's bytes is another form of it.
  if (own.size > 0 && !hasBytes) gathered.groups.push(own)
}

const linksOf = (text: string): readonly number[] =>
  Array.from(text.replaceAll('\\/', '/').matchAll(linkPattern), ([, id]) => Number(id))

/** The maximum number of lines of a charge for an answer: all values in picture members, and all pictures elsewhere. */
export function countNamed(bytes: Buffer): number {
  const names = new Set(['b64_json', 'url', 'result', 'image_url', 'data', 'image', 'bytesBase64Encoded', 'b64_image'])
  const counts = decode(bytes).map(text => {
    const events = readEvents(text)
    return Math.max(
      readNamed(text, names).filter(value => value !== '').length,
      events.flatMap(({ data }) => readNamed(data, names)).filter(value => value !== '').length,
    )
  })
  return Math.max(...counts)
}
