/**
 * Width and height in pixels of `1024x1024`, `1024*1024`, `1024:1024`, or of two numbers; undefined for any other text.
 */
export function parseSize(
  texts: readonly (string | undefined)[],
): { readonly width: number; readonly height: number } | undefined {
  const [first, second] = texts
  if (first === undefined) return undefined
  if (second !== undefined) return toSize(first, second)
  const [, width, height] = /^\s*(\d{1,6})\s*[x×*:]\s*(\d{1,6})\s*$/i.exec(first) ?? []
  return width === undefined || height === undefined ? undefined : toSize(width, height)
}

function toSize(width: string, height: string): { readonly width: number; readonly height: number } | undefined {
  const size = { width: Number(width), height: Number(height) }
  const isSize = Number.isInteger(size.width) && Number.isInteger(size.height) && size.width > 0 && size.height > 0
  return isSize ? size : undefined
}
