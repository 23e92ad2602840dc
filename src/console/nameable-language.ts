/**
 * In the locale `C`, Chromium reports the language `en-US@posix` and WebKit `C`, which no formatter accepts. The chart
 * library creates a formatter with that name while it loads, which would leave the console empty. So this module is
 * imported before all others.
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
