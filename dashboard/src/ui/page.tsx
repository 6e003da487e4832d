// The parts of a screen: title, sections, figures.
import { type ReactNode, useEffect } from 'react'
import { titlePage } from './page-title.ts'

interface PageProps {
  readonly title: string
  /** One sentence under the title. */
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}
export function Page({ title, lead, actions, children }: PageProps) {
  useEffect(() => {
    titlePage(title)
  }, [title])
  return (
    <>
      <div className="page-head">
        <h1>{title}</h1>
        {actions && <div className="actions">{actions}</div>}
        {lead && <p className="lead">{lead}</p>}
      </div>
      {children}
    </>
  )
}

interface SectionProps {
  readonly title: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}
export const Section = ({ title, actions, children }: SectionProps) => (
  <section className="section" aria-label={title}>
    <div className="section-head">
      <h2>{title}</h2>
      {actions && <div className="actions">{actions}</div>}
    </div>
    {children}
  </section>
)

const numbers = new Intl.NumberFormat()
export const countText = (count: number): string => numbers.format(count)

interface FigureProps {
  readonly name: string
  readonly value: ReactNode
  readonly look?: string
}
export const Figure = ({ name, value, look }: FigureProps) => (
  <div className="figure" data-look={look}>
    <span className="figure-value">{typeof value === 'number' ? countText(value) : value}</span>
    <span className="figure-name">{name}</span>
  </div>
)
