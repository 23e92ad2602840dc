import { randomBytes } from 'node:crypto'
import type { Times } from '../util/index.ts'
import type { Picture } from './pictures/picture.ts'

const extensions = { png: 'png', jpeg: 'jpg', webp: 'webp' } as const

/** Links to pictures. A picture is painted again for each download, so that links need no memory for pictures. */
export type Links = {
  /** Returns an unguessable name with the extension of the format. */
  add(picture: Picture): string
  /** Undefined for expired links, and for links that newer ones have replaced. */
  find(name: string): Picture | undefined
}

/** At most 200 links by default, each valid for ten minutes by default. */
export function createLinks(clock: Pick<Times, 'tick'>, keptMax = 200, keptMsMax = 10 * 60_000): Links {
  const links = new Map<string, { picture: Picture; until: number }>()
  return {
    add(picture) {
      const name = `${randomBytes(16).toString('hex')}.${extensions[picture.format]}`
      links.set(name, { picture, until: clock.tick() + keptMsMax })
      const [oldest] = links.keys()
      if (links.size > keptMax && oldest !== undefined) links.delete(oldest)
      return name
    },
    find(name) {
      const link = links.get(name)
      if (!link || clock.tick() < link.until) return link?.picture
      links.delete(name)
      return undefined
    },
  }
}
