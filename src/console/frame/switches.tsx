import { Button } from '../kit/button.tsx'
import { theme, themes } from '../theme.ts'
import { language, languageNames, languageTags, t } from '../words/index.ts'
import { speak } from '../words/load.ts'

/** Language and theme switches. */
export function Switches() {
  const other = language.value === 'zh' ? 'en' : 'zh'
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system'
  return (
    <div class="switches">
      <Button kind="quiet" lang={languageTags[other]} onClick={() => speak(other)}>
        {languageNames[other]}
      </Button>
      <Button kind="quiet" onClick={() => (theme.value = next)}>
        {t('theme')}
        {t('colon')}
        {t(`theme.${theme.value}`)}
      </Button>
    </div>
  )
}
