import { Button } from '../kit/button.tsx'
import { theme, themes } from '../theme.ts'
import { language, languageNames, languageTags, t } from '../words/index.ts'
import { speak } from '../words/load.ts'

/** Language and theme switches. */
export function Switches({ compact = false }: { readonly compact?: boolean }) {
  const other = language.value === 'zh' ? 'en' : 'zh'
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system'
  const themeText = `${t('theme')}${t('colon')}${t(`theme.${theme.value}`)}`
  if (compact)
    return (
      <div class="switches">
        <Button kind="quiet" lang={languageTags[other]} onClick={() => speak(other)}>
          {languageNames[other]}
        </Button>
        <Button
          kind="quiet"
          icon="theme"
          aria-label={themeText}
          title={themeText}
          onClick={() => (theme.value = next)}
        />
      </div>
    )
  return (
    <div class="switches">
      <Button kind="quiet" lang={languageTags[other]} onClick={() => speak(other)}>
        {languageNames[other]}
      </Button>
      <Button kind="quiet" onClick={() => (theme.value = next)}>
        {themeText}
      </Button>
    </div>
  )
}
