// The head of both grids: phases over their steps.
// biome-ignore-all lint/a11y/useSemanticElements: rows are placed by position, which a table cannot do
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid is the one tab stop
import type { GridColumn } from './grid-rows.ts'

interface GridHeadProps {
  readonly columns: readonly GridColumn[]
  readonly first: string
}

export function GridHead({ columns, first }: GridHeadProps) {
  return (
    <div role="rowgroup" className="grid-head">
      <div role="row" className="grid-row" aria-rowindex={1}>
        <div role="columnheader" className="grid-who" aria-colindex={1}>
          {first}
        </div>
        {columns.map(({ phaseName, stepName }, column) => {
          const isFirst = columns[column - 1]?.phaseName !== phaseName
          return (
            <div
              key={`${phaseName}/${stepName}`}
              role="columnheader"
              className={isFirst ? 'step-head first' : 'step-head'}
              aria-colindex={column + 2}
              aria-label={`${phaseName} / ${stepName}`}
              title={`${phaseName} / ${stepName}`}
            >
              {isFirst && <span className="phase-name">{phaseName}</span>}
              <span className="step-name">{stepName}</span>
            </div>
          )
        })}
      </div>
    </div>
  )
}
