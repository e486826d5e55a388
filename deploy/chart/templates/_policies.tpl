{{/* The beginning of a policy. Arguments: root, name, and components, by default all. */}}
{{- define "baton.policy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "baton.metadata" (dict "root" .root "component" "configuration" "name" .name) | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/name: baton
      app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
    {{- with .components }}
    matchExpressions:
      - { key: app.kubernetes.io/component, operator: In, values: [{{ join ", " . }}] }
    {{- end }}
{{- end }}

{{/* The internet without private and special addresses, the same that the address guard rejects. */}}
{{- define "baton.internet" }}
- ipBlock:
    cidr: 0.0.0.0/0
    except:
      - 0.0.0.0/8
      - 10.0.0.0/8
      - 100.64.0.0/10
      - 127.0.0.0/8
      - 168.63.129.16/32
      - 169.254.0.0/16
      - 172.16.0.0/12
      - 192.0.0.0/24
      - 192.0.2.0/24
      - 192.31.196.0/24
      - 192.52.193.0/24
      - 192.88.99.0/24
      - 192.168.0.0/16
      - 192.175.48.0/24
      - 198.18.0.0/15
      - 198.51.100.0/24
      - 203.0.113.0/24
      - 224.0.0.0/4
      - 240.0.0.0/4
- ipBlock:
    cidr: 2000::/3
    except:
      - 2001::/23
      - 2001:db8::/32
      - 2002::/16
      - 2620:4f:8000::/48
      - 3fff::/20
{{- end }}
