import type { Page } from 'playwright-core'

/**
 * Synonyms to avoid: the console, the public pages and the reference use `is` and never `not`. Each entry was once
 * used, and readers took it for something else.
 */
export const vocabulary: readonly { readonly is: string; readonly not: RegExp }[] = [
  // 应答所述 is a value in the record of a charge.
  { is: '响应', not: /回答|应答(?!所述)/ },
  { is: '客户端', not: /调用方|调用者/ },
  { is: '告警', not: /警示|警报/ },
  { is: '加载', not: /载入/ },
  { is: 'API 格式', not: /风格/ },
  { is: 'ID', not: /编号/ },
  { is: '预留', not: /预扣|冻结/ },
  { is: '账号', not: /账户|帐号|帐户/ },
  { is: '账号服务', not: /身份提供方|身份提供商/ },
  { is: '上游', not: /渠道|后端/ },
  { is: '分组', not: /用户组/ },
  { is: '令牌', not: /密匙|API ?密钥|(?<![-\w])tokens?\b/ },
  { is: '词元', not: /代币/ },
  { is: '图片档位', not: /图片等级|分辨率等级|档次/ },
  { is: '限额', not: /配额|速率限制/ },
  { is: '费用', not: /扣费/ },
  { is: '系列', not: /家族|模型族/ },
  { is: '调试台', not: /试验台|游乐场/ },
  { is: '价格来源', not: /出处/ },
  { is: '复现', not: /重现/ },
  { is: '登录', not: /登陆/ },
  { is: '你', not: /您/ },
]

/** The same for English. */
export const englishVocabulary: typeof vocabulary = [
  { is: 'is active', not: /\bholds?\b(?= the configuration)|the new configuration holds/i },
  { is: 'paused', not: /\bleft alone\b/i },
  { is: 'shadow mode', not: /\bin the shadow\b/i },
  { is: 'audit log', not: /\baudit trail\b/i },
  { is: 'sign in, sign out', not: /\blog-?in\b|\blogged (?:in|out)\b|\blog (?:in|out)\b/i },
  { is: 'client', not: /\bcallers?\b/i },
  { is: 'response', not: /\banswers?\b/i },
  { is: 'API key', not: /\bAPI tokens?\b|\b(?:this|your|the|a) token\b/i },
  { is: 'image', not: /\bpictures?\b/i },
]

/** English in Chinese pages: three words or more in a row. */
export const englishRun = /[A-Za-z][a-z'’]+(?:,? [A-Za-z]?[a-z'’]+){2,}/g

/** The text that a page displays or has read aloud, except user content, names, and literal input. */
const readAll = `(() => {
  const silent = 'code, pre, kbd, samp, script, style, textarea, [lang=en], [translate=no]'
  const texts = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const { parentElement: above, data } = walker.currentNode
    if (above.closest(silent) || !above.checkVisibility()) continue
    texts.push(data)
  }
  for (const one of document.querySelectorAll('[title], [aria-label], [placeholder], [alt]'))
    if (!one.closest(silent)) for (const name of ['title', 'aria-label', 'placeholder', 'alt']) texts.push(one.getAttribute(name) ?? '')
  return texts
})()`

/** Runs of English words on a page in Chinese, each once; `known`: texts that the test's users have written. */
export async function englishOn(page: Page, known: readonly string[] = []): Promise<readonly string[]> {
  const texts = (await page.evaluate<string[]>(readAll)).map(text =>
    known.reduce((rest, one) => rest.replaceAll(one, '·'), text),
  )
  return [...new Set(texts.flatMap(text => text.match(englishRun) ?? []))]
}
