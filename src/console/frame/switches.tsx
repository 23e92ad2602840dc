import { Button } from '../kit/button.tsx'
import { theme, themes } from '../theme.ts'
import { language, speak, t } from '../words/index.ts'

/** Language and look. */
export function Switches() {
  const other = language.value === 'zh' ? 'en' : 'zh'
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system'
  return (
    <div class="switches">
      <Button kind="quiet" lang={other === 'zh' ? 'zh-CN' : 'en'} onClick={() => speak(other)}>
        {other === 'zh' ? '中文' : 'English'}
      </Button>
      <Button kind="quiet" onClick={() => (theme.value = next)}>
        {t('theme')}
        {t('colon')}
        {t(`theme.${theme.value}`)}
      </Button>
    </div>
  )
}
