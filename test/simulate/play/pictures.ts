import { jpeg, png } from '../../harness/pictures.ts'
import type { Random } from '../world/random.ts'
import type { Picture } from './asks.ts'

const sizes = [
  [800, 600],
  [1024, 1024],
  [1254, 1254],
  [1672, 941],
  [1536, 1024],
  [2048, 1152],
  [3000, 2000],
] as const

/** A picture with its bytes, or its link. */
export type Painted = Picture & { readonly base64: string; readonly url: string }

/** Paints pictures of which no two are alike. */
export class Painter {
  #count = 0

  paint(random: Random): Painted {
    const number = ++this.#count
    const [width, height] = random.pick(sizes)
    const bytes = random.chance(0.8) ? jpeg(width, height) : png(width, height)
    // Behind what is measured, in front of the end: of JPEG it is scan data, of PNG a chunk that nobody asks for.
    const stamped = Buffer.concat([
      bytes.subarray(0, -8),
      Buffer.from(String(number).padStart(12, '0')),
      bytes.subarray(-8),
    ])
    const base64 = stamped.toString('base64')
    return { width, height, base64, url: '', proof: base64 }
  }

  /** One that is told by a link. */
  link(random: Random): Painted {
    const painted = this.paint(random)
    const url = `https://pictures.sim/${this.#count}-${random.int(1e9)}.jpg`
    return { ...painted, url, proof: url }
  }
}
