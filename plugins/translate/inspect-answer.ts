import { isHeader } from './describe.ts'
import { type Problem, problem, type DescribedOperation } from './problem.ts'
import { toPaths } from '../../src/wire/index.ts'
import type { PlaceSettings, Section } from './schema.ts'

type At = Problem['path']
type Paths = string | readonly string[] | undefined

/** Paths of the whole response's fields that could never match JSON. */
export function pathsIn(section: Section): readonly Problem[] {
  const { facts, usage, count, cost, errors } = section
  return [
    ...named(facts, ['facts']),
    ...named(usage, ['usage']),
    ...inside(count, ['count']),
    ...inside(cost?.at, ['cost', 'at']),
    ...inside(errors?.message, ['errors', 'message']),
    ...inside(errors?.code, ['errors', 'code']),
  ]
}

export function placesIn({ answer }: Section): readonly Problem[] {
  if (answer === undefined) return []
  const isList = Array.isArray(answer)
  const places = [answer].flat() as readonly PlaceSettings[]
  const seen = new Set<string>()
  return places.flatMap((place, i) => {
    const at = isList ? ['answer', i] : ['answer']
    const mark = JSON.stringify(place)
    const isAgain = seen.has(mark)
    seen.add(mark)
    if (!isAgain) return placeIn(place, at)
    return [problem('place_repeated', at, 'this path is already listed above', 'keep one of the two')]
  })
}

function placeIn(place: PlaceSettings, at: At): readonly Problem[] {
  const found: Problem[] = []
  if (place.picture === undefined && place.bytes !== true) {
    const remedy = 'add picture: the path in an item (`.` for the item itself), or bytes: true'
    found.push(problem('picture_missing', at, 'the location of the image is not configured', remedy))
  }
  return [
    ...found,
    ...pathsOf(place.at, [...at, 'at']),
    ...pathsOf(place.picture, [...at, 'picture']),
    ...sizeOf(place.size, [...at, 'size']),
    ...conditionsIn(place.skip_if, [...at, 'skip_if']),
    ...conditionsIn(place.keep_if, [...at, 'keep_if']),
    ...pathsOf(place.error, [...at, 'error']),
    ...named(place.text, [...at, 'text']),
  ]
}

function sizeOf(size: Paths, at: At): readonly Problem[] {
  const paths = toPaths(size)
  if (paths.length <= 2) return pathsOf(size, at)
  const remedy = 'write one path to a value such as "1024x1024", or two paths, to width and height'
  return [problem('size_unfit', at, `a size needs one or two paths, but ${paths.length} are set`, remedy)]
}

export function refusalsIn({ refused = [] }: Section): readonly Problem[] {
  return refused.flatMap((one, i) => [
    ...conditionsIn(one.if, ['refused', i, 'if']),
    ...inside(one.message, ['refused', i, 'message']),
  ])
}

/** If an operation may stream, its section must describe the events. */
export function streamIn({ operation, section, family, forwards }: DescribedOperation): readonly Problem[] {
  const { stream, request, rest, job } = section
  if (!stream) {
    const isRequested =
      family.calls?.get(operation)?.stream !== undefined ||
      ((request === undefined || rest !== undefined) && forwards('stream')) ||
      (request !== undefined && JSON.stringify(request).includes('{stream}'))
    if (!family.streams.has(operation) || !isRequested || job !== undefined) return []
    const message = `'${operation}' can be streamed, but its events are not described`
    const remedy = 'add stream: { each: answer }, or stream: { events: { NAME: image, NAME: done } }'
    return [problem('stream_missing', [], message, remedy)]
  }
  const paths = [
    ...inside(stream.type, ['stream', 'type']),
    ...pathsOf(stream.at, ['stream', 'at']),
    ...pathsOf(stream.picture, ['stream', 'picture']),
    ...sizeOf(stream.size, ['stream', 'size']),
    ...inside(stream.error, ['stream', 'error']),
  ]
  if (stream.each === 'answer') return [...paths, ...unusedIn(stream)]
  const roles = Object.values(stream.events ?? {})
  if (roles.includes('image')) return paths
  const message = 'no event of the stream is an image, so none is ever forwarded'
  const remedy = 'set the role image for the event that contains it, or set each: answer'
  return [...paths, problem('stream_without_image', ['stream', ...(stream.events ? ['events'] : [])], message, remedy)]
}

function unusedIn(stream: NonNullable<Section['stream']>): readonly Problem[] {
  const keys = (['events', 'at', 'picture', 'size', 'error'] as const).filter(key => stream[key] !== undefined)
  return keys.map(key =>
    problem(
      'key_unfit',
      ['stream', key],
      `'${key}' has no effect with each: answer`,
      'remove it, or remove each: answer',
    ),
  )
}

function conditionsIn(conditions: object | undefined, at: At): readonly Problem[] {
  return Object.entries(conditions ?? {}).flatMap(([path, wanted]) => {
    const empty = Array.isArray(wanted) && wanted.length === 0
    const remedy = 'write its values, any for any value, or none for no value'
    return [
      ...pathsOf(path, [...at, path]),
      ...(empty
        ? [problem('condition_empty', [...at, path], 'no value matches, so this condition never holds', remedy)]
        : []),
    ]
  })
}

function named(paths: object | undefined, at: At): readonly Problem[] {
  return Object.entries(paths ?? {}).flatMap(([name, path]) => inside(path as string, [...at, name]))
}

/** Paths that must select a single value; the path of the whole answer is invalid. */
export function inside(paths: Paths, at: At): readonly Problem[] {
  if (toPaths(paths).includes('.')) {
    const message = '`.` is the whole response, but a single value is needed here'
    return [problem('path_unfit', at, message, 'write the names of its path, separated by dots')]
  }
  return pathsOf(paths, at)
}

export function pathsOf(paths: Paths, at: At): readonly Problem[] {
  const isList = Array.isArray(paths)
  return toPaths(paths).flatMap((path, i) => {
    const flaw = pathFlaw(path)
    return flaw ? [problem('path_unfit', isList ? [...at, i] : at, flaw.message, flaw.remedy)] : []
  })
}

function pathFlaw(path: string): { readonly message: string; readonly remedy: string } | undefined {
  if (path === '.') return undefined
  const remedy = 'write names separated by dots, as in output.choices.message'
  const names = path.split('.')
  if (names.some(name => name.trim() !== name || name === ''))
    return { message: `'${path}' has an empty name, or spaces around a name`, remedy }
  if (names[0] === '$' || /\[(?:\d*|\*)\]/.test(path) || names.includes('*'))
    return {
      message: `'${path}' is written in the syntax of another language`,
      remedy: `${remedy}; lists are searched automatically`,
    }
  if (isHeader(path) && path !== path.toLowerCase())
    return { message: `'${path}' is not a header name`, remedy: `write ${path.toLowerCase()}` }
  return undefined
}
