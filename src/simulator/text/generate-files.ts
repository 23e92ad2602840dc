import { randomUUID } from 'node:crypto'
import { answerJson } from '../answer.ts'
import { fail } from '../errors.ts'
import type { Call, Handler, Played, SimulatedUpstream } from '../upstream.ts'
import { findKept, forget, type Kept, keep } from './kept.ts'
import { type Shape, shapeOf } from './read.ts'
import { googleStyle } from './styles.ts'
import { styled } from './styled.ts'

const version = 'v1beta'
const keptMs = 48 * 3_600_000

const find = (call: Call): Kept => {
  const name = `files/${call.params['id'] ?? ''}`
  const found = findKept(call, 'file', name)
  if (!found) throw fail('object_unknown', { message: `File ${name} not found.` })
  return found
}

/** Stores a file, and returns it. `given` is the client's metadata. */
function store(call: Call, given: Shape, type: string, content: Buffer, headers: Played['headers']): Played {
  const { name: wanted, displayName, display_name } = given
  const name = typeof wanted === 'string' && wanted !== '' ? wanted : `files/${randomUUID().slice(0, 12)}`
  if (findKept(call, 'file', name)) throw fail('object_exists', { what: `File ${name}` })
  const now = call.site.now()
  const value = {
    name,
    displayName: displayName ?? display_name ?? '',
    mimeType: type,
    sizeBytes: String(content.length),
    createTime: new Date(now).toISOString(),
    updateTime: new Date(now).toISOString(),
    expirationTime: new Date(now + keptMs).toISOString(),
    uri: `${call.site.origin()}/${version}/${name}`,
    state: 'ACTIVE',
    source: 'UPLOADED',
  }
  keep(call, name, { kind: 'file', value, input: [content] })
  return answerJson(200, { file: value }, headers)
}

function parse(text: string): Shape {
  try {
    return shapeOf(JSON.parse(text === '' ? '{}' : text))
  } catch (cause) {
    throw fail('invalid_json', { reason: 'the metadata is no JSON' }, { cause })
  }
}

/** Stores a file from a `multipart/related` body, whose two parts are metadata and content. */
function storeParts(call: Call): Played {
  const boundary = /boundary="?([^";]+)"?/.exec(call.headers['content-type'] ?? '')?.[1]
  const parts = boundary === undefined ? [] : call.body.toString('latin1').split(`--${boundary}`).slice(1, -1)
  const [metadata, content] = parts.map(part => {
    const at = part.indexOf('\r\n\r\n')
    return { head: part.slice(0, at), body: part.slice(at + 4, -2) }
  })
  if (!metadata || !content) throw fail('invalid_form', { reason: 'it is not metadata and content' })
  const type = /content-type:\s*([^\r\n]+)/i.exec(content.head)?.[1] ?? 'application/octet-stream'
  const given = parse(Buffer.from(metadata.body, 'latin1').toString())
  return store(call, shapeOf(given['file']), type, Buffer.from(content.body, 'latin1'), {})
}

function begin(call: Call): Played {
  const id = randomUUID()
  const given = shapeOf(parse(call.body.toString())['file'])
  const type = call.headers['x-goog-upload-header-content-type'] ?? 'application/octet-stream'
  keep(call, id, { kind: 'upload', value: { given, type }, input: [] })
  const query = new URLSearchParams({ upload_id: id, upload_protocol: 'resumable' }).toString()
  const link = `${call.site.origin()}/upload/${version}/files?${query}`
  const headers = { 'x-goog-upload-status': 'active', 'x-goog-upload-url': link, 'x-goog-upload-control-url': link }
  return { status: 200, headers, body: '' }
}

function goOn(call: Call, id: string): Played {
  const found = findKept(call, 'upload', id)
  if (!found) throw fail('object_unknown', { message: 'Upload not found.' })
  const commands = (call.headers['x-goog-upload-command'] ?? '').split(',').map(command => command.trim())
  const before = found.input.filter(one => Buffer.isBuffer(one))
  const received = before.reduce((sum, one) => sum + one.length, 0)
  const status = (word: string, more = 0): Played['headers'] => ({
    'x-goog-upload-status': word,
    'x-goog-upload-size-received': String(received + more),
  })
  if (commands.includes('query')) return { status: 200, headers: status('active'), body: '' }
  if (commands.includes('cancel')) {
    forget(call, id)
    return { status: 200, headers: status('cancelled'), body: '' }
  }
  const offset = Number(call.headers['x-goog-upload-offset'] ?? 0)
  if (commands.includes('upload') && offset !== received)
    throw fail('invalid_value', { name: 'offset', found: String(offset), expected: String(received) })
  const input = commands.includes('upload') ? [...before, call.body] : before
  if (!commands.includes('finalize')) {
    keep(call, id, { ...found, input })
    return { status: 200, headers: status('active', call.body.length), body: '' }
  }
  forget(call, id)
  const { given, type } = found.value
  return store(call, shapeOf(given), String(type), Buffer.concat(input), status('final', call.body.length))
}

const upload: Handler = call => {
  const id = call.query.get('upload_id')
  if (id !== null) return goOn(call, id)
  const protocol = call.headers['x-goog-upload-protocol'] ?? call.query.get('uploadType') ?? ''
  if (protocol === 'multipart') return storeParts(call)
  if (protocol === 'resumable' && call.headers['x-goog-upload-command'] === 'start') return begin(call)
  const type = call.headers['content-type'] ?? 'application/octet-stream'
  return store(call, {}, type, call.body, {})
}

const remove: Handler = call => {
  find(call)
  forget(call, `files/${call.params['id'] ?? ''}`)
  return answerJson(200, {})
}

/** Stored files in the generative-language style. */
export const generateFiles: SimulatedUpstream = {
  'POST /upload/v1beta/files': styled(googleStyle, upload),
  'GET /v1beta/files/{id}': styled(googleStyle, call => answerJson(200, find(call).value)),
  'DELETE /v1beta/files/{id}': styled(googleStyle, remove),
}
