import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import { refuse } from './reasons.ts'

/** Reads the bodies of requests: JSON in UTF-8, and no other type. */
export function readJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (isUtf8(bytes)) return parse(request, bytes.toString(), done)
    return done(refuse('invalid', 'not_unicode', { field: 'body' }, { param: 'body' }), undefined)
  })
}

/**
 * Half of a surrogate pair, which an escape in JSON can contain, is stored as another character.
 * @throws Failure invalid with the path of the field
 */
export function checkTexts(body: unknown): void {
  const open: (readonly [path: string, value: unknown])[] = [['', body]]
  for (let next = open.pop(); next; next = open.pop()) {
    const [path, value] = next
    if (typeof value === 'string' && !value.isWellFormed())
      throw refuse('invalid', 'not_unicode', { field: path }, { param: path })
    if (typeof value !== 'object' || value === null) continue
    for (const [name, inner] of Object.entries(value)) open.push([path === '' ? name : `${path}.${name}`, inner])
  }
}
