import './nameable-language.ts'
import { render } from 'preact'
import { endPrefetch } from './api/prefetch.ts'
import { App } from './app.tsx'
import { applyTheme } from './theme.ts'
import { beginToSpeak } from './words/load.ts'

endPrefetch()
applyTheme()
const root = document.getElementById('app')
try {
  await beginToSpeak()
  root?.replaceChildren()
  if (root) render(<App />, root)
} catch {
  if (root) root.textContent = '无法连接网关，请刷新页面。 Cannot reach the gateway. Reload this page.'
}
