{{/* A rule of egress to DNS. */}}
{{- define "context1.egressDns" -}}
- to:
    {{- toYaml .Values.networkPolicy.to.dns | nindent 4 }}
  ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- end -}}

{{/* A rule of egress: (list PEERS PORTS); without peers to anywhere. */}}
{{- define "context1.egress" -}}
- ports:
    {{- range index . 1 }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  {{- with index . 0 }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* Port of an address, `host:port` or a URL; (list ADDRESS DEFAULT). */}}
{{- define "context1.port" -}}
{{- $address := index . 0 -}}
{{- $port := regexFind ":[0-9]+(/|$)" $address | trimAll ":/" -}}
{{- $port | default (ternary "443" (index . 1) (hasPrefix "https:" $address)) -}}
{{- end -}}

{{/* Rules of egress to the S3 storage, and to the proxy if there is one. */}}
{{- define "context1.egressStorage" -}}
{{- $port := include "context1.port" (list .Values.storage.endpoint (ternary "443" "80" .Values.storage.secure)) -}}
{{ include "context1.egress" (list .Values.networkPolicy.to.storage (list $port)) }}
{{- end -}}

{{- define "context1.egressProxy" -}}
{{- $ports := list -}}
{{- range compact (list .Values.proxy.http .Values.proxy.https) -}}
{{- $ports = append $ports (include "context1.port" (list . "80")) -}}
{{- end -}}
{{- if $ports -}}
{{ include "context1.egress" (list .Values.networkPolicy.to.proxy (uniq $ports)) }}
{{- end -}}
{{- end -}}
