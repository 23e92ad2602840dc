import type { Frame } from './flame-parts.ts'

const [width, rowHeight, fontSize, top] = [1600, 17, 11, 40]
/** Narrower frames are not visible. */
const leastWidth = 0.4
const letterWidth = 6.1

/**
 * A flame graph as SVG: callers below, callees above, with widths proportional to their time. The colour is that of
 * the part. A browser shows the whole name and the share of a frame under the pointer.
 */
export function drawFlames(root: Frame, title: string): string {
  const rects: string[] = []
  let deepest = 0
  const draw = (frame: Frame, left: number, depth: number): void => {
    const wide = (frame.all / root.all) * width
    if (wide < leastWidth) return
    deepest = Math.max(deepest, depth)
    rects.push(rectangle(frame, left, depth, wide, root.all))
    let at = left
    for (const child of frame.children.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      draw(child, at, depth + 1)
      at += (child.all / root.all) * width
    }
  }
  draw(root, 0, 0)
  const height = top + (deepest + 1) * rowHeight + 4
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="${fontSize}">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="8" y="24" font-size="15">${escaped(title)}</text>`,
    // Rows count from the bottom.
    `<g transform="translate(0 ${height - rowHeight - 2})">`,
    ...rects,
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

function rectangle({ name, part, all }: Frame, left: number, depth: number, wide: number, whole: number): string {
  const letters = Math.floor((wide - 4) / letterWidth)
  const label = letters < 3 ? '' : name.length > letters ? `${name.slice(0, letters - 1)}…` : name
  const text =
    label === '' ? '' : `<text x="${(left + 2).toFixed(1)}" y="${12 - depth * rowHeight}">${escaped(label)}</text>`
  const share = ((all / whole) * 100).toFixed(2)
  const at = `x="${left.toFixed(1)}" y="${-depth * rowHeight}" width="${wide.toFixed(1)}" height="${rowHeight - 1}"`
  return `<g><title>${escaped(`${name} (${part}): ${share} %`)}</title><rect ${at} fill="${colourOf(part)}"/>${text}</g>`
}

/** The same colour for a part in every graph. */
function colourOf(part: string): string {
  let hue = 7
  for (const letter of part) hue = (hue * 31 + (letter.codePointAt(0) ?? 0)) % 360
  return `hsl(${hue} 70% 78%)`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
