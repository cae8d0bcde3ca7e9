/** Buttons. One that shows an icon only has its label as name and as tooltip. */
import type { ButtonHTMLAttributes, ReactNode, Ref } from "react"
import { Icon, type IconName } from "./Icon.tsx"

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly variant?: "plain" | "primary" | "quiet"
  readonly size?: "small" | "normal"
  readonly icon?: IconName
  readonly children?: ReactNode
  readonly ref?: Ref<HTMLButtonElement>
}

const classes = ({ className, size, variant }: Props, ...more: ReadonlyArray<string>): string =>
  ["button", variant ?? "", size ?? "", ...more, className ?? ""].filter(Boolean).join(" ")

export const Button = (props: Props) => {
  const { children, className: _className, icon, size: _size, variant: _variant, ...rest } = props
  return (
    <button type="button" {...rest} className={classes(props)}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  )
}

export const IconButton = (props: Props & { readonly icon: IconName; readonly label: string }) => {
  const { className: _className, icon, label, size: _size, variant: _variant, ...rest } = props
  return (
    <button type="button" title={label} {...rest} aria-label={label} className={classes(props, "icon")}>
      <Icon name={icon} />
    </button>
  )
}
