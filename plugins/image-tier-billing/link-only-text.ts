/** A link or picture in Markdown, a picture in HTML, or a separate address. */
const links =
  /!?\[[^\][]*\]\(\s*<?((?:[a-z][a-z0-9+.-]*:)?\/\/[^\s()<>[\]]+)>?(?:\s+"[^"]*")?\s*\)|<img\s[^<>]*>|(?<!\S)<?((?:[a-z][a-z0-9+.-]*:)?\/\/\S+)/gi
const source = /\ssrc\s*=\s*["']?([^"'\s>]+)/i
/** The remainder of a link around a picture. */
const wrapper = /\[\s*\]\([^()]*\)/g
const inline = /(?<=^|[\s(<])data:/i
/** The remainder of a text that may continue as a link. */
const begun =
  /^[^\p{L}[<]*(?:\[\s*)?(?:!?\[[^\][]*(?:\]|\]\([^()]*)?|<(?:i|im|img(?:\s[^<>]*)?)?|[a-z][a-z0-9+.-]{0,15}(?::\/{0,2})?)?$/iu

/** @returns the links of a text that contains nothing else; empty for any other text */
export function linksOfLinkOnlyText(text: string): readonly string[] {
  if (!text.includes('//')) return []
  const { found, rest } = takeLinks(text)
  return /\p{L}/u.test(rest.replaceAll(wrapper, '')) ? [] : found
}

/** Whether an unfinished text may consist only of links. */
export function mayBeLinkOnly(text: string): boolean {
  return !inline.test(text) && begun.test(takeLinks(text).rest.replaceAll(wrapper, ''))
}

function takeLinks(text: string): { readonly found: readonly string[]; readonly rest: string } {
  const found: string[] = []
  const rest = text.replaceAll(links, (whole: string, marked?: string, alone?: string) => {
    found.push(marked ?? alone ?? source.exec(whole)?.[1] ?? whole)
    return ''
  })
  return { found, rest }
}
