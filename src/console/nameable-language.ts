/**
 * Chromium under the locale `C` calls its language `en-US@posix`, and WebKit `C`, which no formatter of its own takes. The chart's library asks
 * for one with that name while it loads, and with it the whole console would stay empty: so this comes before all others.
 */
function isNameable(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length > 0
  } catch {
    return false
  }
}

if (!isNameable(navigator.language)) {
  const [tag = ''] = navigator.language.split(/[@._]/)
  Object.defineProperty(navigator, 'language', { value: isNameable(tag) ? tag : 'en', configurable: true })
}
