// The title of the tab: first whether action is needed, then the page.
let page = ''
let mark = ''

const show = (): void => {
  document.title = page === '' ? `${mark}matoolkit` : `${mark}${page} – matoolkit`
}

export function titlePage(title: string): void {
  page = title
  show()
}

/** Stands before the title; empty when no action is needed. */
export function markTitle(text: string): void {
  mark = text
  show()
}
